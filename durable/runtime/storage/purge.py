"""Purging: an execution whose retention is over leaves the table, every item of it (E9)."""

from __future__ import annotations

from durable.protocol import writes
from durable.protocol.head import Head
from durable.runtime.ports import Ports


def purge(ports: Ports, head: Head, now: int) -> bool:
    """Delete an expired execution; False when another process is at it, or has been.

    It is taken first: a slow purger must not delete what a new execution of the same id has written since.
    """
    taken = ports.store.update(writes.purge(head, now))
    if not isinstance(taken, Head):
        return False
    ports.values.purge(head.execution_id)
    ports.store.purge(taken)
    return True
