"""A replayed step costs a look at the history, unless somebody wants its arguments compared."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from durable import codec
from durable.api.calls import StepCall, step_call
from durable.engine.entries import Entry, EntryStatus, with_value
from durable.engine.history import History
from durable.engine.interrupts import Diverged
from durable.engine.operations.steps import step
from durable.engine.replay import Replay, Scope

ENTRY = with_value(
    Entry(path="charge", status=EntryStatus.COMPLETED, order=1, attempts=1, fingerprint=codec.fingerprint([1]) or ""),
    codec.encode("charged", str),
)


def replay(drift: Any) -> Replay:
    unused: Any = None
    return Replay("one", History([ENTRY]), unused, now=0, created=0, drift=drift)


def never(path: str) -> NoReturn:
    raise AssertionError("nobody needs the call")


def call(path: str) -> StepCall:
    options: Any = dict.fromkeys(("rollback", "retry", "timeout", "rollback_retry", "rollback_timeout", "returns"))
    return step_call(path, "charge", len, [2], semantics="at_least_once", sensitive=False, **options)


@pytest.mark.rule("D2", "D6")
def test_a_recorded_step_is_not_even_looked_at_when_drift_is_off() -> None:
    assert step(replay("off"), Scope("", {}), "charge", never) is ENTRY


@pytest.mark.rule("D6")
def test_its_arguments_are_compared_when_drift_is_an_error() -> None:
    with pytest.raises(Diverged, match="a step called with other arguments at 'charge'; the code now has these: 2"):
        step(replay("error"), Scope("", {}), "charge", call)
