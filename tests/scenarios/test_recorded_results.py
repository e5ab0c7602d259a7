"""What is recorded stands: a body never runs again, and its value is the same on the first run and on each replay."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from durable import Context, Step, workflow
from durable.testing import Harness


class Currency(Enum):
    EUR = "eur"


class Point(NamedTuple):
    x: int
    y: float


@dataclass
class Charge:
    id: UUID
    amount: Decimal
    currency: Currency


CHARGE = Charge(UUID(int=7), Decimal("10.50"), Currency.EUR)


@pytest.mark.rule("D2")
def test_a_step_runs_once_across_a_sleep() -> None:
    ran: list[str] = []

    def run(step: Step, result: str) -> str:
        ran.append(step.name)
        return result

    @workflow
    def order(ctx: Context) -> list[str]:
        before = ctx.step("before", run, "b")
        ctx.sleep("pause", timedelta(hours=6))
        after = ctx.step("after", run, "a")
        return [before, after]

    with Harness(workflows=[order]) as durable:
        start = durable.clock.moment
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output, ran) == ("completed", ["b", "a"], ["before", "after"])
        assert durable.clock.moment - start == timedelta(hours=6)


@pytest.mark.rule("D2")
def test_a_step_runs_once_when_every_message_comes_three_times() -> None:
    @workflow
    def order(ctx: Context) -> None:
        for name in ("a", "b", "c"):
            ctx.step(name, lambda step: None)

    with Harness(workflows=[order]) as durable:
        durable.duplicate_all(2)
        execution = durable.start(order)
        durable.run()

        assert (execution.status, durable.faults.bodies) == ("completed", ["a", "b", "c"])


@pytest.mark.rule("D2")
@pytest.mark.parametrize(("crash", "bodies"), [("after", ["a", "b"]), ("before", ["a", "a", "b"])])
def test_a_step_runs_again_only_when_the_process_died_before_its_record(crash: str, bodies: list[str]) -> None:
    @workflow
    def order(ctx: Context) -> str:
        return ctx.step("a", lambda step: "a") + ctx.step("b", lambda step: "b")

    with Harness(workflows=[order]) as durable:
        claim_and_checkpoint = 2
        getattr(durable.faults, crash)(claim_and_checkpoint, durable.faults.die, operation="UpdateItem", by="Worker")
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output, durable.faults.bodies) == ("completed", "ab", bodies)


VALUES: list[Any] = [
    None,
    "text",
    10**40,
    -0.0,
    1e-320,
    float("inf"),
    b"\x00\xff",
    (1, "two", (3.0,)),
    [1, [2, {"a": None}]],
    {1, 2},
    frozenset({"a"}),
    {1: "int", (2, 3): "tuple", None: "none"},
    Decimal("1.50"),
    datetime(2030, 1, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    datetime(2030, 1, 1, 12),
    timedelta(days=-1, microseconds=1),
    UUID(int=7),
    Currency.EUR,
    Point(1, 2.0),
    CHARGE,
    [CHARGE, {"charge": CHARGE}],
]


@pytest.mark.rule("D3", "S12")
def test_a_value_of_each_type_is_the_same_on_the_first_run_and_on_replay() -> None:
    seen: list[Any] = []

    @workflow
    def order(ctx: Context) -> None:
        for value in VALUES:
            seen.append(ctx.step("value", lambda step: value))
        ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=len(VALUES) + 1) as durable:
        execution = durable.start(order)
        durable.run()

        first, replayed = seen[: len(VALUES)], seen[len(VALUES) :]
        assert (execution.status, len(durable.faults.bodies)) == ("completed", len(VALUES))
        assert first == replayed == VALUES
        assert [repr(each) for each in first] == [repr(each) for each in replayed] == [repr(each) for each in VALUES]
        assert [type(each) for each in first] == [type(each) for each in replayed] == [type(each) for each in VALUES]


def price(step: Step, value: Any) -> float:
    return value


@pytest.mark.rule("D3")
def test_a_value_that_differs_from_its_annotation_is_the_same_both_times_too() -> None:
    values = [1, True, Decimal("1.5"), OrderedDict(a=1), Currency.EUR, None, "1.5"]
    seen: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        for value in values:
            result = ctx.try_step("price", price, value)
            seen.append(repr(result))
        ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=len(values) + 1) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, len(durable.faults.bodies)) == ("completed", len(values))
        assert len(seen) == 2 * len(values)
        assert seen[: len(values)] == seen[len(values) :]


@pytest.mark.rule("D3")
def test_what_is_done_to_a_returned_value_does_not_alter_the_history() -> None:
    kept: list[list[str]] = []
    seen: list[list[str]] = []

    def load(step: Step) -> list[str]:
        items = ["a"]
        kept.append(items)
        return items

    @workflow
    def order(ctx: Context) -> list[str]:
        items = ctx.step("load", load)
        seen.append(list(items))
        items.append("mine")
        kept[0].append("the body's own")
        ctx.sleep("pause", 60)
        ctx.step("after", lambda step: items.append("later"))
        return items

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert seen == [["a"], ["a"]]
        assert execution.history[0].output == ["a"]
        assert execution.output == ["a", "mine", "later"]
