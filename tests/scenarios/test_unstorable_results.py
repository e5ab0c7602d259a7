"""What can't be stored fails its step once, by name, and what was done before is rolled back."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pytest

from durable import Context, StepFailed, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("S12")


TOO_LARGE = "x" * 64_000_001


@dataclass
class Order:
    id: str
    connection: Any


class Plain:
    """A class that is neither a dataclass nor a model."""


def circle() -> list[Any]:
    items: list[Any] = [1]
    items.append(items)
    return items


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    ("value", "path"),
    [
        (object(), "$"),
        (Plain(), "$"),
        ({"orders": [Order("a", None), Order("b", threading.Lock())]}, "$.orders[1].connection"),
        ([1, {"handler": print}], "$[1].handler"),
        ("\ud800", "$"),
        ((number for number in range(3)), "$"),
    ],
    ids=["object", "class", "nested", "function", "surrogate", "generator"],
)
def test_a_result_that_can_not_be_encoded_is_a_terminal_error_with_its_path(value: Any, path: str) -> None:
    undone: list[tuple[str, str, bool, Any]] = []

    def undo(undo: Undo) -> None:
        undone.append((undo.name, undo.status, undo.completed, undo.output))

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("reserve", lambda step: "reserved", rollback=undo)
        ctx.step("charge", lambda step: value, rollback=undo)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.rollback.outcome, execution.error.type) == (
            "failed",
            "completed",
            "CodecError",
        )
        assert execution.error.details == {"path": path, "step": "charge", "kind": "critical", "attempts": 1}
        assert durable.faults.bodies == ["reserve", "charge", "charge", "reserve"]  # once each, and the rollbacks
        assert undone == [("charge", "failed", False, None), ("reserve", "completed", True, "reserved")]


def test_a_circle_is_one_too() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", lambda step: circle())

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type, durable.faults.bodies) == ("failed", "CodecError", ["charge"])


def test_it_can_be_handled_like_any_failure() -> None:
    @workflow
    def order(ctx: Context) -> str:
        return ctx.try_step("charge", lambda step: object()).failure.kind

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output, durable.faults.bodies) == ("completed", "critical", ["charge"])


@pytest.mark.rule("S13")
def test_a_result_that_is_too_large_is_one_error_after_exactly_one_run_of_the_body() -> None:
    failures: list[StepFailed] = []

    @workflow
    def order(ctx: Context) -> int:
        large = ctx.step("fits", lambda step: "x" * 1_000_000)
        try:
            ctx.step("too large", lambda step: TOO_LARGE)
        except StepFailed as error:
            failures.append(error)
        return len(large)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        (error,) = failures
        assert (execution.output, durable.faults.bodies) == (1_000_000, ["fits", "too large"])
        assert (error.kind, error.attempts, error.error.type) == ("critical", 1, "CodecError")
        assert error.error.message.startswith("the result of step 'too large' is 64,000,0")


@pytest.mark.rule("R13")
@pytest.mark.parametrize("output", [object(), TOO_LARGE], ids=["unstorable", "too large"])
def test_an_output_that_can_not_be_stored_fails_the_execution_and_rolls_back(output: Any) -> None:
    undone: list[str] = []

    @workflow
    def order(ctx: Context) -> Any:
        ctx.step("charge", lambda step: None, rollback=lambda undo: undone.append(undo.name))
        return output

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type, undone) == ("failed", "CodecError", ["charge"])
        assert "the workflow's output" in execution.error.message
