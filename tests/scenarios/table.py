"""What is stored, read without a call: a look from outside, which no planned fault can meet."""

from __future__ import annotations

from collections.abc import Mapping

from durable.engine.entries import Entry, unpack
from durable.engine.history import History
from durable.protocol.head import Head
from durable.protocol.updates import Changes, Update, Where
from durable.testing import Harness


def head(durable: Harness, execution_id: str) -> Head:
    """The head of an execution."""
    with durable.unrecorded():
        found = durable.application.store.read(execution_id)
    assert isinstance(found, Head), f"there is no execution {execution_id}"
    return found


def history(durable: Harness, execution_id: str) -> History:
    """What is recorded of an execution."""
    now = head(durable, execution_id)
    with durable.unrecorded():
        segments = durable.application.store.segments(now, 0)
    entries: list[Entry] = [entry for segment in segments for entry in unpack(segment.entries)]
    return History([*entries, *unpack(now.tail)])


def items(durable: Harness, execution_id: str) -> Mapping[str, int]:
    """The items of an execution, and how many bytes they hold."""
    return durable.stored.items(execution_id)


def end_lease(durable: Harness, execution_id: str) -> None:
    """The lease is over, as no clock would have it."""
    set_head(durable, execution_id, {"lease": 0})


def set_head(durable: Harness, execution_id: str, changes: Changes) -> None:
    """Fields of a head become this, beside all rules."""
    with durable.unrecorded():
        durable.application.store.update(Update(execution_id, Where(), changes))
