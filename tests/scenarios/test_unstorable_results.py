"""What can't be stored fails its step once, by name, and what was done before is rolled back."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pytest

from durable import Break, CodecError, Context, Continue, ErrorInfo, Failure, Step, StepFailed, Undo, workflow
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


@pytest.mark.rule("F4", "R4")
@pytest.mark.parametrize("steps", [1, 9])
def test_what_is_recorded_before_and_after_it_stands_and_its_failure_is_recorded_too(steps: int) -> None:
    replays: list[list[Any]] = []
    undone: list[tuple[str, Any]] = []

    def undo(undo: Undo) -> None:
        undone.append((undo.name, undo.output))

    def broken(step: Step) -> Any:
        step.state["broken"] = True
        step.db.put("key", "of a failed attempt")
        return {"handler": print}

    def good(step: Step) -> str:
        step.state[step.name] = step.db.get("key")
        return f"good {step.name}"

    @workflow(state=dict)
    def order(ctx: Context) -> None:
        seen: list[Any] = []
        replays.append(seen)
        ctx.sleep("no time", 0)  # recorded along with what comes next
        seen.append(ctx.step("before", good, rollback=undo))
        ctx.version("way", 2)
        seen.append(ctx.try_step("broken", broken, rollback=undo))
        ctx.sleep("no time", 0)
        seen.append(ctx.step("after", good, rollback=undo))
        ctx.sleep("pause", 60)
        seen.append(ctx.step("last", good, rollback=undo))
        ctx.step("broken for good", broken)

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        execution = durable.start(order)
        durable.run()

        error = ErrorInfo("CodecError", replays[-1][1].error.message, {"path": "$.handler"})
        seen = ["good before", Failure("critical", "step", "broken", 1, error), "good after", "good last"]
        assert [each == seen[: len(each)] for each in replays] == [True] * len(replays)
        assert (execution.status, execution.error.details["step"]) == ("failed", "broken for good")
        assert undone == [("last", "good last"), ("after", "good after"), ("broken", None), ("before", "good before")]
        assert execution.state == {"before": None, "broken": True, "after": None, "last": None}
        forward = ["before", "broken", "after", "last", "broken for good"]
        assert durable.faults.bodies == [*forward, "last", "after", "broken", "before"]
        assert [(entry.path, entry.status) for entry in execution.history if entry.kind != "rollback"] == [
            ("no time", "completed"),
            ("before", "completed"),
            ("way", "completed"),
            ("broken", "failed"),
            ("no time#2", "completed"),
            ("after", "completed"),
            ("pause", "completed"),
            ("last", "completed"),
            ("broken for good", "failed"),
        ]


@pytest.mark.rule("D9")
@pytest.mark.parametrize("what", ["a loop's state", "a loop's end", "a response"])
def test_what_a_workflow_hands_over_and_can_not_be_stored_can_be_handled_and_what_follows_stands(what: str) -> None:
    def hand_over(ctx: Context) -> None:
        match what:
            case "a loop's state":
                ctx.loop("turns", lambda ctx, state: Continue([object()]), state=[0])
            case "a loop's end":
                ctx.loop("turns", lambda ctx: Break(object()))
            case _:
                message = ctx.queue.next("wait", "questions", completable=True)
                try:
                    message.complete(object())
                finally:
                    message.complete("thanks")  # the refused one was none

    @workflow
    def order(ctx: Context) -> list[str]:
        try:
            hand_over(ctx)
        except CodecError as error:
            told = error.path
        after = ctx.step("after", lambda step: step.name)
        ctx.sleep("pause", 60)
        return [told, after, ctx.step("last", lambda step: step.name)]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        execution.send("questions", "?")
        durable.run()

        path = "$[0]" if what == "a loop's state" else "$"
        assert (execution.status, execution.output) == ("completed", [path, "after", "last"])
        assert durable.faults.bodies == ["after", "last"]
