"""A claim that takes long (a cold process, a slow table) takes no time from the step that runs after it."""

from __future__ import annotations

import pytest

from durable import Context, Retry, Step, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("S4")

WHOLE = 60  # seconds of an invocation of the worker
MARGINS = 3  # of them are for ending a body and for recording


def slowed(durable: Harness, seconds: float, *, claims: int) -> None:
    """Every claim takes so long, for so many of them."""
    durable.faults.after(1, lambda: durable.clock.advance(seconds), operation="UpdateItem", by="Worker", times=claims)


@pytest.mark.parametrize("lost", [WHOLE, WHOLE - MARGINS, WHOLE - MARGINS - 0.1, 40])
@pytest.mark.parametrize("timeout", [None, 30])
@pytest.mark.parametrize("semantics", ["at_least_once", "at_most_once"])
def test_the_first_step_of_a_cold_process_gets_its_time_in_another_invocation(
    lost: float, timeout: float | None, semantics: str
) -> None:
    left: list[float] = []

    def work(step: Step) -> str:
        left.append(step.remaining().total_seconds())
        return "done"

    @workflow
    def order(ctx: Context) -> str:
        return ctx.step("work", work, timeout=timeout, retry=Retry(0), semantics=semantics)

    with Harness(workflows=[order]) as durable:
        slowed(durable, lost, claims=1)
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output if execution.status == "completed" else execution.error) == (
            "completed",
            "done",
        )
        assert len(left) == 1


def test_a_step_that_was_cut_short_is_tried_again_and_nothing_is_charged() -> None:
    ran: list[int] = []

    def work(step: Step) -> str:
        ran.append(step.attempt)
        if step.remaining().total_seconds() < 1:
            while True:  # it needs more than is left
                pass
        return "done"

    @workflow
    def order(ctx: Context) -> str:
        return ctx.step("work", work, retry=Retry(0))

    with Harness(workflows=[order]) as durable:
        slowed(durable, WHOLE - MARGINS - 0.2, claims=1)
        execution = durable.start(order)
        durable.run()

        assert (execution.status, ran) == ("completed", [1, 2])


def test_a_step_that_no_invocation_has_the_time_for_ends() -> None:
    def work(step: Step) -> None:
        while True:
            pass

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("work", work, retry=Retry(0))

    with Harness(workflows=[order]) as durable:
        slowed(durable, WHOLE - MARGINS - 0.05, claims=1_000)
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type if execution.error else None) == ("failed", "AttemptTimeout")
