"""When an ended execution expires. This is the only place where that is decided."""

from __future__ import annotations

from durable.protocol.head import Head

RETENTION = 30 * 86_400_000  # milliseconds that an ended execution is kept


def expires(ended: int) -> int:
    """Return when an execution that ended at this time expires."""
    return ended + RETENTION


def expired(head: Head, now: int) -> bool:
    """Return whether an execution is as good as gone: readers don't see it, and its id may be used again."""
    return head.terminal and now >= expires(head.ended)
