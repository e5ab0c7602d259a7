"""A fault of the table or the queue is no failure of the workflow, and user code cannot catch it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from durable import Context, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("D9")

OUTAGE = 100  # calls: more than anything tries again in one invocation


@contextmanager
def noting(caught: list[Any]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        caught.append(error)
        raise


@pytest.mark.parametrize(
    "refusal",
    ["ThrottlingException", "ProvisionedThroughputExceededException", "InternalServerError", "AccessDeniedException"],
)
@pytest.mark.parametrize("steps", [1, 5])
def test_an_outage_of_the_table_is_waited_out(refusal: str, steps: int) -> None:
    caught: list[Any] = []

    @workflow
    def order(ctx: Context) -> str:
        with noting(caught):
            ctx.step("a", lambda step: "a")
            ctx.sleep("pause", 60)
            return ctx.step("b", lambda step: "b")

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        checkpoint_of_a = 2
        durable.faults.before(
            checkpoint_of_a, durable.faults.refuse(refusal), operation="UpdateItem", by="Worker", times=OUTAGE
        )
        execution = durable.start(order)
        durable.deliver_once()
        durable.faults.clear()
        durable.run()

        assert (execution.status, execution.output, caught) == ("completed", "b", [])
        assert durable.faults.bodies == ["a", "a", "b"]  # the record of the first is what the outage took


def test_a_lost_lease_is_not_seen_by_user_code() -> None:
    caught: list[Any] = []

    @workflow
    def order(ctx: Context) -> str:
        with noting(caught):
            ctx.step("a", lambda step: "a")
            return ctx.step("b", lambda step: "b")

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.faults.in_body(1, execution.terminate)
        durable.run()

        assert (execution.status, caught, durable.faults.bodies) == ("terminated", [], ["a"])


def test_a_fault_that_is_swallowed_stops_the_execution_there_all_the_same() -> None:
    @workflow
    def order(ctx: Context) -> str:
        answer = "a wrong answer"
        with suppress(BaseException):
            answer = ctx.step("a", lambda step: "the answer")
        with suppress(BaseException):
            ctx.step("b", lambda step: None)
        return answer

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        checkpoint_of_a = 2
        durable.faults.before(
            checkpoint_of_a, durable.faults.refuse("AccessDeniedException"), operation="UpdateItem", by="Worker"
        )
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", "the answer")
        assert durable.faults.bodies == ["a", "a", "b"]
