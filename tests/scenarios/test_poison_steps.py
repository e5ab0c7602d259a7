"""A step that takes its process with it uses up its attempts, and nobody else's."""

from __future__ import annotations

from typing import Any

import pytest

from durable import Context, ErrorInfo, Retry, Step, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("S4")

CRASHED = "every attempt took its process with it: it ran out of memory or time, or exited"


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_it_ends_as_exhausted_after_at_most_one_body_more_than_its_attempts_and_rolls_back(retries: int) -> None:
    seen: list[Any] = []

    def undo(undo: Undo) -> None:
        seen.append((undo.name, undo.status, undo.output))

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("reserve", lambda step: "reserved", rollback=undo)
        ctx.step("poison", lambda step: durable.faults.die(), retry=Retry(retries), rollback=undo)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        attempts = retries + 1
        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert execution.error == ErrorInfo(
            "ProcessCrashed", CRASHED, {"step": "poison", "kind": "exhausted", "attempts": attempts}
        )
        bodies = durable.faults.bodies
        assert bodies == ["reserve", *["poison"] * (attempts + 1), "poison", "reserve"]
        assert seen == [("poison", "failed", None), ("reserve", "completed", "reserved")]


def test_crashes_and_failures_use_up_the_same_attempts() -> None:
    attempts: list[int] = []

    def mixed(step: Step) -> None:
        attempts.append(step.attempt)
        if len(attempts) == 2:
            durable.faults.die()
        raise OSError("no line")

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("mixed", mixed, retry=Retry(3, backoff_base=60))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.details["attempts"]) == ("failed", 4)
        assert attempts == [1, 2, 2, 3, 4]  # the first crash is in doubt


def test_only_the_first_crash_is_in_doubt_even_when_failures_come_between() -> None:
    bodies: list[int] = []

    def unsteady(step: Step) -> None:
        bodies.append(step.attempt)
        if len(bodies) % 2:
            durable.faults.die()
        raise OSError("no line")

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("unsteady", unsteady, retry=Retry(3, backoff_base=60))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.details["attempts"]) == ("failed", 4)
        assert bodies == [1, 1, 2, 3, 4]


def test_a_crash_and_then_success_is_a_success() -> None:
    @workflow
    def order(ctx: Context) -> int:
        return ctx.step("once", lambda step: step.attempt, retry=Retry(0))

    with Harness(workflows=[order]) as durable:
        durable.faults.in_body(1, durable.faults.die)
        execution = durable.start(order)
        durable.run()

        assert (execution.status, durable.faults.bodies) == ("completed", ["once", "once"])


def test_a_claim_that_dies_before_its_body_charges_nobody() -> None:
    @workflow
    def order(ctx: Context) -> int:
        return ctx.step("fragile", lambda step: step.attempt, retry=Retry(0))

    with Harness(workflows=[order]) as durable:
        for claim in (1, 2, 3, 4):
            durable.faults.after(claim, durable.faults.die, operation="UpdateItem", by="Worker")
        execution = durable.start(order)
        durable.run()

        assert [invocation.died for invocation in durable.invocations if invocation.function == "Worker"][:5] == [
            *[True] * 4,
            False,
        ]
        assert (execution.status, execution.output, durable.faults.bodies) == ("completed", 1, ["fragile"])


def test_a_neighbour_in_the_batch_is_not_charged() -> None:
    @workflow
    def poison(ctx: Context) -> None:
        ctx.step("poison", lambda step: durable.faults.die(), retry=Retry(2))

    @workflow
    def healthy(ctx: Context) -> int:
        ctx.step("first", lambda step: None, retry=Retry(0))
        return ctx.step("second", lambda step: step.attempt, retry=Retry(0))

    with Harness(workflows=[poison, healthy], parameters={"BatchSize": 10}) as durable:
        executions = [durable.start(each) for each in (poison, healthy, healthy)]
        durable.run()

        assert [execution.status for execution in executions] == ["failed", "completed", "completed"]
        assert [execution.output for execution in executions[1:]] == [1, 1]
        healthy_bodies = sorted(name for name in durable.faults.bodies if name != "poison")
        assert healthy_bodies == ["first", "first", "second", "second"]


def test_a_rollback_that_takes_its_process_with_it_is_tried_again() -> None:
    attempts: list[int] = []

    def undo(undo: Undo) -> None:
        attempts.append(undo.attempt)
        if len(attempts) < 3:
            durable.faults.die()

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("reserve", lambda step: None, rollback=undo)
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.rollback.outcome, len(attempts)) == ("failed", "completed", 3)
