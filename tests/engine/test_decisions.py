"""The table of decisions, row by row."""

from __future__ import annotations

from typing import get_args

import pytest

from durable.engine.decisions import RECORDED_FIRST, Decision, for_sleep, for_step
from durable.engine.entries import Operation, SleepEntry, StepEntry
from durable.engine.recorded import EntryStatus

NOW = 1_000


def step(status: EntryStatus, *, attempts: int = 0, marks: int = 0, until: int = 0) -> StepEntry:
    return StepEntry(path="charge", status=status, attempts=attempts, marks=marks, until=until)


def sleep(status: EntryStatus, until: int) -> SleepEntry:
    return SleepEntry(path="pause", status=status, until=until)


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        pytest.param(None, Decision.RUN, marks=pytest.mark.rule("D1")),
        pytest.param(step(EntryStatus.COMPLETED, attempts=1), Decision.REPLAY, marks=pytest.mark.rule("D2")),
        pytest.param(step(EntryStatus.COMPLETED, attempts=9), Decision.REPLAY, marks=pytest.mark.rule("D2")),
        pytest.param(step(EntryStatus.FAILED, attempts=3), Decision.REPLAY, marks=pytest.mark.rule("D4", "F4")),
        pytest.param(
            step(EntryStatus.RETRYING, attempts=1, until=NOW + 1), Decision.WAIT, marks=pytest.mark.rule("S2")
        ),
        pytest.param(step(EntryStatus.RETRYING, attempts=1, until=NOW), Decision.RUN, marks=pytest.mark.rule("S1")),
        pytest.param(step(EntryStatus.RETRYING, attempts=2, until=NOW - 1), Decision.RUN, marks=pytest.mark.rule("S1")),
        pytest.param(step(EntryStatus.UNFINISHED, marks=3), Decision.FAIL, marks=pytest.mark.rule("S4")),
        pytest.param(
            step(EntryStatus.UNFINISHED, attempts=1, marks=2), Decision.FAIL, marks=pytest.mark.rule("S4", "S5")
        ),
        pytest.param(step(EntryStatus.UNFINISHED, marks=2), Decision.RUN, marks=pytest.mark.rule("S4")),
        pytest.param(step(EntryStatus.UNFINISHED, attempts=1, marks=1), Decision.RUN, marks=pytest.mark.rule("S4")),
        pytest.param(step(EntryStatus.UNFINISHED), Decision.RUN, marks=pytest.mark.rule("S4")),
    ],
)
def test_a_step_of_three_attempts(recorded: StepEntry | None, expected: Decision) -> None:
    assert for_step(recorded, NOW, attempts=3) is expected


@pytest.mark.rule("Q4")
@pytest.mark.parametrize(
    ("recorded", "until", "passed", "expected"),
    [
        (None, NOW + 1, False, Decision.WAIT),
        (None, NOW, False, Decision.RUN),
        (None, NOW - 1, False, Decision.RUN),
        (sleep(EntryStatus.WAITING, NOW + 1), NOW + 1, False, Decision.WAIT),
        (sleep(EntryStatus.WAITING, NOW), NOW, False, Decision.REPLAY),
        (sleep(EntryStatus.WAITING, NOW + 1), NOW + 1, True, Decision.REPLAY),
        (sleep(EntryStatus.COMPLETED, NOW + 1), NOW + 1, False, Decision.REPLAY),
    ],
)
def test_a_sleep(recorded: SleepEntry | None, until: int, passed: bool, expected: Decision) -> None:
    assert for_sleep(recorded, NOW, until, passed=passed) is expected


@pytest.mark.rule("Q4")
def test_the_recorded_deadline_decides_and_not_the_one_asked_for_now() -> None:
    assert for_sleep(sleep(EntryStatus.WAITING, NOW - 1), NOW, until=NOW + 99, passed=False) is Decision.REPLAY


@pytest.mark.rule("R18")
def test_the_table_says_of_every_operation_whether_it_is_recorded_before_a_later_body() -> None:
    asked_for = {kind.kind for kind in get_args(Operation)}
    assert set(RECORDED_FIRST) == asked_for
