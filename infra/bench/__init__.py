"""What an execution costs and how fast it replays: `python -m infra.bench`, or `make bench`."""
