"""Heads for tests of pure rules: one that is running and free, changed as a test says."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from durable.protocol.continuation import Delivery, continuation_of
from durable.protocol.head import Head, Status

NOW = 1_900_000_000_000
LATER = NOW + 60_000
EARLIER = NOW - 60_000

RUNNING = Head(
    execution_id="order-1",
    status=Status.RUNNING,
    workflow="checkout",
    version=1,
    created=EARLIER,
    revision=5,
    message="mine",
)


def head(**changes: Any) -> Head:
    """A head at revision 5, last claimed by the message `mine`."""
    return replace(RUNNING, **changes)


def delivery(revision: int, message_id: str) -> Delivery:
    """A delivery of a continuation of this revision."""
    continuation = continuation_of(head(revision=revision))
    return Delivery(continuation=continuation, message_id=message_id, receipt="receipt", received=NOW)
