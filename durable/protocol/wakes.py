"""When an execution is woken next. This is the only place where that is decided.

What asks: whoever sends a continuation after a checkpoint, a command, a dead letter or a duplicate, and whoever writes
the due time by which the sweeper finds what nobody brings back.
"""

from __future__ import annotations

from durable.protocol.head import AT_REST, Head, Status, shard
from durable.protocol.updates import Changes
from durable.usercode.durations import FOREVER

STALE = 5 * 60_000  # a running execution of which nothing was heard for so long is looked at by the sweeper
REFRESH = 2 * 60_000  # the due time is moved when less than this is left: an index write costs as much as a checkpoint


def next_wake(head: Head, now: int) -> int | None:
    """Return when a continuation has something to do; None: never, unless somebody sends a message or a command."""
    if head.terminal or head.status in AT_REST:
        return None
    if not head.parked(now):
        return now
    return None if head.wake >= FOREVER else head.wake


def due_at(execution_id: str, moment: int | None) -> Changes:
    """Return the index attributes of an execution that the sweeper is to look at then; None: not at all."""
    return {"due": 0, "due_shard": ""} if moment is None else {"due": moment, "due_shard": shard(execution_id)}


def due_again(head: Head, now: int) -> Changes:
    """Return the index attributes after a command: whoever gave it may die before the continuation is sent."""
    return due_at(head.execution_id, next_wake(head, now))


def due_after_checkpoint(before: Head, status: Status, wake: int, now: int) -> Changes:
    """Return the index attributes that a checkpoint brings; empty when they stay."""
    if status in AT_REST or wake >= FOREVER:
        return due_at(before.execution_id, None)
    if wake:
        return due_at(before.execution_id, wake)
    if status is Status.FAILING:
        return due_at(before.execution_id, now)
    if fresh_enough(before, status, now):
        return {}
    return due_at(before.execution_id, now + STALE)


def fresh_enough(head: Head, status: Status, now: int) -> bool:
    """Return whether the due time may stay: an execution that is ending keeps what its command or failure wrote."""
    if status in (Status.CANCELLING, Status.ROLLING_BACK):
        return bool(head.due) and not head.wake
    return now + REFRESH < head.due <= now + STALE
