"""`ctx.wait_for` looks again and again, durably, until there is something."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from durable import Context, InvalidCall, Step, StepFailed, TerminalError, workflow
from durable.testing import Harness
from durable.testing.clock import START

pytestmark = pytest.mark.rule("J7")


@dataclass(frozen=True)
class Parcel:
    tracking: str


def test_it_returns_what_the_check_returns_as_soon_as_it_does() -> None:
    looks: list[tuple[str, int]] = []

    def look(step: Step, order: str) -> Parcel | None:
        looks.append((step.path, step.attempt))
        return Parcel(order) if len(looks) == 4 else None

    seen: list[Parcel] = []

    @workflow
    def order(ctx: Context) -> None:
        seen.append(ctx.wait_for("parcel", look, "order-1", every=timedelta(minutes=10)))
        ctx.sleep("pause", 1)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, seen) == ("completed", [Parcel("order-1")] * 2)
        assert looks == [(f"parcel[{number}]/check", 1) for number in range(4)]
        assert durable.clock.moment == START + timedelta(minutes=30, seconds=1)


def test_what_is_there_at_once_costs_no_wait() -> None:
    @workflow
    def order(ctx: Context) -> list[int]:
        return [ctx.wait_for("it", lambda step: value, every=60) for value in (0, False, "")]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.output, durable.clock.moment) == ([0, False, ""], START)


@pytest.mark.rule("F1")
def test_when_its_time_is_over_it_fails_as_a_step_does() -> None:
    @workflow
    def order(ctx: Context) -> str:
        try:
            ctx.wait_for("it", lambda step: None, every=60, timeout=150)
        except StepFailed as failed:
            caught = f"{failed.kind} of {failed.step}: {failed.error}"
        block = ctx.try_block("block", lambda ctx: ctx.wait_for("it", lambda step: None, every=60, timeout=0))
        return f"{caught}; {block.failure.kind} of {block.failure.step}"

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == ("timeout of it: WaitTimedOut: 'it' was not there within 150; timeout of block/it")
        assert durable.clock.moment == START + timedelta(seconds=150)


@pytest.mark.rule("S1")
def test_a_check_that_raises_is_retried_as_a_step_is() -> None:
    def flaky(step: Step) -> str | None:
        if step.attempt == 1:
            raise OSError("no line")
        return step.path if "[1]" in step.path else None

    def refused(step: Step) -> str | None:
        raise TerminalError("no such order")

    @workflow
    def order(ctx: Context) -> list[str]:
        failure = ctx.try_block("refused", lambda ctx: ctx.wait_for("it", refused, every=60)).failure
        return [ctx.wait_for("it", flaky, every=60), failure.step, failure.kind]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == ["it[1]/check", "refused/it[0]/check", "critical"]


@pytest.mark.rule("L3", "E3")
def test_a_long_wait_has_a_short_history_and_survives_crashes() -> None:
    looks: list[str] = []

    def look(step: Step) -> str | None:
        looks.append(step.path)
        return "there" if step.path == "it[70]/check" else None

    @workflow
    def order(ctx: Context) -> str:
        return ctx.wait_for("it", look, every=3600)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        for path in ("it[3]/check", "it[45]/check"):
            durable.faults.in_body(1, durable.faults.die, path=path)
        longest = 0
        for _ in range(72):
            durable.run(duration=3600)
            longest = max(longest, len(execution.history))

        assert (execution.output, len(execution.history), longest < 45) == ("there", 1, True)
        assert looks == [f"it[{number}]/check" for number in range(71)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": 0}, "wait_for 'it': every is zero: give a positive duration"),
        ({"every": -1}, "wait_for 'it': every is negative: -1"),
        ({"every": 60, "timeout": -1}, "wait_for 'it': timeout is negative: -1"),
        ({"every": "60"}, "wait_for 'it': every is a timedelta or a number of seconds"),
    ],
)
def test_a_wait_that_can_not_be_is_refused_at_the_call(options: dict[str, Any], message: str) -> None:
    @workflow
    def order(ctx: Context) -> str:
        try:
            ctx.wait_for("it", lambda step: None, **options)
        except InvalidCall as error:
            return str(error)
        return "taken"

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output.startswith(message)
