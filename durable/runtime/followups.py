"""What brings an execution back after a checkpoint: derived from the head that was committed, and from nothing else (E5)."""

from __future__ import annotations

import logging

from durable.errors import DurableError, StoreError
from durable.protocol import writes
from durable.protocol.continuation import continuation_of
from durable.protocol.delivery import Action, Ruling
from durable.protocol.head import AT_REST, Head, Status
from durable.protocol.wakes import next_wake
from durable.runtime.ports import Queue, Store
from durable.usercode.durations import FOREVER

logger = logging.getLogger("durable.runtime")

FAR = 15 * 60_000  # a continuation that comes later than this is not in the queue yet, but with a scheduler


class LostExecution(DurableError):
    """An invocation was about to end with nothing to bring its execution back: a fault of this library (E5)."""


def send_for(queue: Queue, head: Head, now: int) -> None:
    """Send what the head needs to come back; raises StoreError, and LostExecution when the lease was not given back.

    A failing execution is brought back by the table's stream (R3), one at rest by whoever resumes it.
    """
    if head.status is Status.FAILING and not head.lease:
        return
    if head.lease and not head.terminal and head.status not in AT_REST:
        raise LostExecution(
            f"execution '{head.execution_id}' is {head.status} and still leased at the end of an invocation"
        )
    send_again(queue, head, now)


def obeyed(store: Store, queue: Queue, head: Head, ruling: Ruling, now: int, *, not_before: int = 0) -> bool:
    """Do what a message asks for before it is deleted; False when the execution has changed meanwhile. Raises StoreError."""
    if ruling.fence and not isinstance(store.update(writes.fence_off(head, now)), Head):
        return False
    if ruling.action is Action.RESEND:
        send_again(queue, head, now, not_before=not_before)
    return True


def send_again(queue: Queue, head: Head, now: int, *, not_before: int = 0) -> None:
    """Send a continuation of the head for when it has something to do, if it ever has; raises StoreError.

    Whatever the head needs is sent here: one that fails gets a continuation too, for its stream record may be long past.
    """
    wake = next_wake(head, now)
    if wake is not None:
        queue.send(continuation_of(head), delay=max(0, wake - now, not_before - now) / 1000)


def forget(queue: Queue, head: Head, now: int) -> None:
    """Take back the continuation that was to end a long wait of this head, which something else has ended.

    Best effort: what is left behind comes in its time, finds that the execution has moved on, and is deleted.
    """
    if head.wake >= FOREVER or head.wake - now <= FAR:
        return
    try:
        queue.forget(continuation_of(head))
    except StoreError as error:
        logger.warning("a schedule is left behind: %s", error, extra={"execution": head.execution_id})
