"""Purging: an execution whose retention is over leaves the table, every item of it (E9)."""

from __future__ import annotations

from durable.protocol import writes
from durable.protocol.head import Head
from durable.runtime.ports import Ports


def purge(ports: Ports, head: Head, now: int) -> bool:
    """Delete an expired execution; False when another process is at it, or has been.

    It is taken first, so that two do not do the same work. One that is slow and overtaken does no harm: it deletes what
    belongs to this life of the id, and nothing else.
    """
    taken = ports.store.update(writes.purge(head, now))
    if not isinstance(taken, Head):
        return False
    ports.values.purge(head.execution_id, head.birth)
    ports.store.purge(taken)
    return True
