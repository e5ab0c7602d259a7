"""When an ended execution expires, and what it keeps of its messages. This is the only place where that is decided."""

from __future__ import annotations

from durable.protocol.head import Head

RETENTION = 30 * 86_400_000  # milliseconds that an ended execution is kept


REMEMBERED = 30 * 86_400_000  # milliseconds that the id of a message and the response to it are kept


def forgotten(sent: int) -> int:
    """Return when the id of a message of this time, or the response to it, is forgotten.

    An execution may go on for ever, and take messages all the time: what is left of them must not grow without end.
    """
    return sent + REMEMBERED


def expires(ended: int) -> int:
    """Return when an execution that ended at this time expires."""
    return ended + RETENTION


def expired(head: Head, now: int) -> bool:
    """Return whether an execution is as good as gone: readers don't see it, and its id may be used again."""
    return head.terminal and now >= expires(head.ended)
