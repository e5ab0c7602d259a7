"""Time, identity and chance are the same at every replay, and one call more shifts no other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from durable import Context, workflow
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("D10")

START = datetime(2030, 1, 1, tzinfo=UTC)


def test_each_replay_sees_the_same() -> None:
    replays: list[list[Any]] = []

    @workflow
    def order(ctx: Context) -> None:
        seen: list[Any] = []
        replays.append(seen)
        for name in "abc":
            seen += [ctx.now(), ctx.uuid(), ctx.uuid(), ctx.random().random(), ctx.random().random()]
            ctx.step(name, lambda step: durable.clock.advance(7))
            ctx.sleep("pause", 60)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        longest = replays[-1]
        assert execution.status == "completed"
        assert len(replays) == 7
        assert [seen == longest[: len(seen)] for seen in replays] == [True] * 7
        assert len(set(longest)) == len(longest)


def test_now_is_the_time_of_what_was_recorded_last() -> None:
    seen: list[datetime] = []

    @workflow
    def order(ctx: Context) -> None:
        seen.clear()
        seen.append(ctx.now())
        ctx.step("a", lambda step: durable.clock.advance(7))
        seen.append(ctx.now())
        ctx.sleep("pause", 60)
        seen.append(ctx.now())
        ctx.step("b", lambda step: durable.clock.advance(30))
        seen.append(ctx.now())

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.clock.advance(3)  # until its first continuation is delivered
        durable.run()

        assert [moment - START for moment in seen] == [
            timedelta(seconds=s) for s in (0, 3 + 7, 3 + 7 + 60, 3 + 7 + 60 + 30)
        ]


def test_chance_is_a_source_of_its_own_at_each_call() -> None:
    drawn: list[list[float]] = []

    @workflow
    def order(ctx: Context) -> None:
        first, second = ctx.random(), ctx.random()
        drawn.append([first.random(), second.random(), first.random(), second.random()])
        ctx.sleep("pause", 60)

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

        first, replayed = drawn
        assert first == replayed
        assert len(set(first)) == 4


def test_executions_differ() -> None:
    @workflow
    def order(ctx: Context) -> list[Any]:
        return [str(ctx.uuid()), ctx.random().random()]

    with Harness(workflows=[order]) as durable:
        executions = [durable.start(order, execution_id=name) for name in ("one", "two")]
        durable.run()

        (uuid, number), (other_uuid, other_number) = (execution.output for execution in executions)
        assert uuid != other_uuid
        assert number != other_number


def test_a_call_more_shifts_no_other() -> None:
    def before(ctx: Context) -> tuple[Any, ...]:
        ctx.step("a", lambda step: None)
        identity, number = ctx.uuid(), ctx.random().random()
        ctx.sleep("pause", 60)
        return identity, number, ctx.uuid(), ctx.random().random()

    def after(ctx: Context) -> tuple[Any, ...]:
        ctx.uuid()
        ctx.random()
        ctx.step("a", lambda step: None)
        identity, number = ctx.uuid(), ctx.random().random()
        ctx.uuid()
        ctx.random()
        ctx.sleep("pause", 60)
        return identity, number, ctx.uuid(), ctx.random().random()

    outputs = []
    for deployed in (before, after):
        code = Code(deployed)
        with Harness(workflows=[code.workflow]) as durable:
            execution = durable.start(code.workflow, execution_id="one")
            durable.run()
            outputs.append(execution.output)

    assert outputs[0] == outputs[1]


def test_chance_shifts_no_identity_and_identity_no_chance() -> None:
    def apart(ctx: Context) -> tuple[Any, ...]:
        return str(ctx.uuid()), ctx.random().random()

    def mixed(ctx: Context) -> tuple[Any, ...]:
        number = ctx.random().random()
        ctx.random()
        identity = str(ctx.uuid())
        ctx.uuid()
        return identity, number

    outputs = []
    for deployed in (apart, mixed):
        code = Code(deployed)
        with Harness(workflows=[code.workflow]) as durable:
            execution = durable.start(code.workflow, execution_id="one")
            durable.run()
            outputs.append(execution.output)

    assert outputs[0] == outputs[1]
