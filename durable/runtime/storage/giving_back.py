"""A lease is given back with nothing recorded: the entries and the claims stay as they are."""

from __future__ import annotations

from durable.protocol import writes
from durable.protocol.head import Head
from durable.runtime.ports import Ports

TRIES = 5  # while commands come in


def give_back(ports: Ports, head: Head) -> Head:
    """Give a lease back with nothing recorded; returns the head as it then is. Raises StoreError."""
    nonce = ports.nonces()
    for _ in range(TRIES):
        answer = ports.store.update(writes.give_back(head, nonce, ports.clock.now()))
        seen = answer if isinstance(answer, Head) else answer.head
        if seen is None or seen.terminal or (seen.birth, seen.fence) != (head.birth, head.fence):
            break
        head = seen
        if seen.nonce == nonce:
            break
    return head
