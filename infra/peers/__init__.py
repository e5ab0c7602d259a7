"""Steps a second of a harness over the local store, beside those of peers: `python -m infra.peers`, or `make bench-peers`."""
