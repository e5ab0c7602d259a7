"""What brings an execution back after a checkpoint: derived from the head that was committed, and from nothing else (E5)."""

from __future__ import annotations

from durable.errors import DurableError
from durable.runtime.continuation import continuation_of
from durable.runtime.head import AT_REST, FOREVER, Head, Status
from durable.runtime.ports import Queue


class LostExecution(DurableError):
    """An invocation was about to end with nothing to bring its execution back: a fault of this library (E5)."""


def send_for(queue: Queue, head: Head, now: int) -> None:
    """Send what the head needs to come back; raises StoreError, and LostExecution when the lease was not given back.

    A failing execution is brought back by the table's stream (R3), one at rest by whoever resumes it.
    """
    if head.terminal or head.status in AT_REST:
        return
    if head.lease:
        raise LostExecution(
            f"execution '{head.execution_id}' is {head.status} and still leased at the end of an invocation"
        )
    if head.status is Status.FAILING or head.wake == FOREVER:
        return
    queue.send(continuation_of(head), delay=max(0, head.wake - now) / 1000)


def send_resumed(queue: Queue, head: Head, now: int) -> None:
    """Send what a resumed execution needs; a failing one gets a continuation too, for its stream record may be long past."""
    if head.wake == FOREVER and head.parked(now):
        return
    queue.send(continuation_of(head), delay=max(0, head.wake - now) / 1000 if head.parked(now) else 0)
