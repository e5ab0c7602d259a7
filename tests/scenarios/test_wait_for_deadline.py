"""The time of a `wait_for` begins at its call, is recorded there, and is looked at a last time when it is over.

It does not matter when the last thing before it was recorded, how late a continuation comes, or what a deploy makes of it.
"""

from __future__ import annotations

from typing import Any

import pytest

from durable import Context, Execution, Retry, Step, StepFailed, TerminalError
from durable.testing import Harness
from durable.testing.clock import START
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("J7")

HOUR = 3_600


class Looks:
    """A check, and the seconds since the start at which it looked; it finds something at the nth look."""

    def __init__(self, found_at: int = 1_000_000) -> None:
        self.at: list[float] = []
        self.found_at = found_at
        self.durable: Harness | None = None

    def __call__(self, step: Step) -> str | None:
        assert self.durable is not None
        self.at.append((self.durable.clock.moment - START).total_seconds())
        return f"look {len(self.at)}" if len(self.at) >= self.found_at else None


def outcome(execution: Execution[Any, Any], looks: Looks, durable: Harness) -> tuple[object, ...]:
    """How it ended, when it looked, and when it was over."""
    end = execution.output if execution.status == "completed" else execution.error.type
    return (end, looks.at, (durable.clock.moment - START).total_seconds())


def waiting(looks: Looks, every: float, timeout: float | None, **options: Any) -> Code:
    return Code(lambda ctx: ctx.wait_for("it", looks, every=every, timeout=timeout, **options))


@pytest.mark.parametrize(
    ("every", "timeout", "at"),
    [
        (60, 150, [0, 60, 120, 150]),
        (60, 120, [0, 60, 120]),
        (60, 60, [0, 60]),
        (60, 30, [0, 30]),
        (24 * HOUR, 60, [0, 60]),
        (60, 0, [0]),
    ],
)
def test_it_looks_a_last_time_when_its_time_is_over(every: float, timeout: float, at: list[float]) -> None:
    looks = Looks()
    code = waiting(looks, every, timeout)
    with Harness(workflows=[code.workflow]) as durable:
        looks.durable = durable
        execution = durable.start(code.workflow)
        durable.run()

        assert outcome(execution, looks, durable) == ("WaitTimedOut", at, at[-1])
        assert (execution.error.details["kind"], execution.error.details["step"]) == ("timeout", "it")


def test_what_the_last_look_finds_is_found() -> None:
    looks = Looks(found_at=2)
    code = waiting(looks, 24 * HOUR, 60)
    with Harness(workflows=[code.workflow]) as durable:
        looks.durable = durable
        execution = durable.start(code.workflow)
        durable.run()

        assert outcome(execution, looks, durable) == ("look 2", [0, 60], 60)


@pytest.mark.rule("E3")
@pytest.mark.parametrize("found_at", [1, 3, 99])
def test_a_backlog_before_its_first_look_takes_nothing_of_its_time(found_at: int) -> None:
    """A step was recorded; the continuation after it comes two hours late."""
    looks = Looks(found_at)

    def order(ctx: Context) -> str:
        ctx.step("begin", lambda step: None)
        return ctx.wait_for("it", looks, every=60, timeout=120)

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        looks.durable = durable
        execution = durable.start(code.workflow)
        durable.deliver_once()
        durable.clock.advance(2 * HOUR)
        durable.run()

        at = [7_200, 7_260, 7_320][:found_at]
        end = "WaitTimedOut" if found_at == 99 else f"look {found_at}"
        assert outcome(execution, looks, durable) == (end, at, at[-1])


@pytest.mark.rule("E3")
def test_a_start_that_was_delivered_late_takes_nothing_of_its_time() -> None:
    looks = Looks()
    code = waiting(looks, 60, 120)
    with Harness(workflows=[code.workflow]) as durable:
        looks.durable = durable
        execution = durable.start(code.workflow)
        durable.clock.advance(2 * HOUR)
        durable.run()

        assert outcome(execution, looks, durable) == ("WaitTimedOut", [7_200, 7_260, 7_320], 7_320)


@pytest.mark.rule("E3")
@pytest.mark.parametrize("found_at", [2, 99])
def test_a_backlog_between_two_looks_leaves_a_last_one(found_at: int) -> None:
    """Its deadline is over when the continuation comes: it looks once more, and that decides."""
    looks = Looks(found_at)
    code = waiting(looks, 60, 120)
    with Harness(workflows=[code.workflow]) as durable:
        looks.durable = durable
        execution = durable.start(code.workflow)
        durable.deliver_once()
        durable.clock.advance(2 * HOUR)
        durable.run()

        end = "WaitTimedOut" if found_at == 99 else "look 2"
        assert outcome(execution, looks, durable) == (end, [0, 7_200], 7_200)


@pytest.mark.rule("E7")
def test_a_pause_over_its_deadline_leaves_a_last_look() -> None:
    looks = Looks(found_at=2)
    code = waiting(looks, 60, 120)
    with Harness(workflows=[code.workflow]) as durable:
        looks.durable = durable
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        execution.pause()
        durable.run(duration=HOUR)
        execution.resume()
        durable.run()

        assert (execution.status, execution.output, len(looks.at)) == ("completed", "look 2", 2)


@pytest.mark.rule("E3")
def test_a_crash_in_a_look_moves_no_deadline() -> None:
    looks = Looks()
    code = waiting(looks, 60, 150)
    with Harness(workflows=[code.workflow]) as durable:
        looks.durable = durable
        execution = durable.start(code.workflow)
        durable.faults.in_body(2, durable.faults.die)
        durable.run()

        assert (execution.error.type, looks.at[0], looks.at[-1]) == ("WaitTimedOut", 0, 150)


@pytest.mark.rule("D7")
def test_its_deadline_is_fixed_at_the_call_whatever_a_deploy_makes_of_it() -> None:
    looks = Looks()
    code = waiting(looks, 60, 150)
    with Harness(workflows=[code.workflow]) as durable:
        looks.durable = durable
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = waiting(looks, 60, 24 * HOUR).deployed
        durable.run()

        assert outcome(execution, looks, durable) == ("WaitTimedOut", [0, 60, 120, 150], 150)


@pytest.mark.rule("D10")
def test_each_of_several_waits_has_its_own_time() -> None:
    looks = Looks()
    ends: list[str] = []

    def order(ctx: Context) -> None:
        for _ in range(2):
            failure = ctx.try_block(
                "block", lambda ctx: ctx.wait_for("it", looks, every=60, timeout=90), catch=["timeout"]
            ).failure
            ends.append(failure.step)

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        looks.durable = durable
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, looks.at) == ("completed", [0, 60, 90, 90, 150, 180])
        assert ends[-2:] == ["block/it", "block#2/it"]


def test_without_a_timeout_it_waits_as_long_as_it_takes() -> None:
    looks = Looks(found_at=50)
    code = waiting(looks, HOUR, None)
    with Harness(workflows=[code.workflow]) as durable:
        looks.durable = durable
        execution = durable.start(code.workflow)
        durable.run()

        assert outcome(execution, looks, durable) == (
            "look 50",
            [number * HOUR for number in range(50)],
            49 * HOUR,
        )


@pytest.mark.rule("S1")
def test_a_look_that_is_retried_does_not_outlive_the_deadline_by_more_than_its_retries() -> None:
    """The failed attempts of a look are no looks: the next one comes when it is due."""
    at: list[float] = []

    def check(step: Step) -> str | None:
        at.append((durable.clock.moment - START).total_seconds())
        if step.attempt == 1:
            raise ConnectionError("no line")
        return None

    code = Code(
        lambda ctx: ctx.wait_for("it", check, every=60, timeout=90, retry=Retry(1, backoff_base=10, jitter=False))
    )
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.error.type, at) == ("WaitTimedOut", [0, 10, 70, 80, 90, 100])


def test_a_check_that_fails_for_good_ends_the_wait() -> None:
    def refused(step: Step) -> str | None:
        raise TerminalError("no such order")

    def order(ctx: Context) -> str:
        try:
            return ctx.wait_for("it", refused, every=60, timeout=150)
        except StepFailed as error:
            return f"{error.kind} at {error.step}"

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.output, durable.clock.moment) == ("critical at it[0]/check", START)
