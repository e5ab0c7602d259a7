"""Inside a rollback's function the outer context is as inside a body: it logs, and every operation of it is refused.

A refused operation fails the rollback for good: no other attempt could do better.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from durable import Break, Context, NestedStep, Retry, Step, Undo
from durable.testing import Harness
from tests.scenarios.code import Code


def reserve(step: Step) -> str:
    return step.path


def logged(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The lines of the workflow's own."""
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in written if "message_id" not in line and line["level"] == "INFO"]


# --- the log ---------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("D12")
@pytest.mark.parametrize("steps", [1, 20])
def test_what_a_rollback_logs_through_the_context_is_written_once_with_its_fields(
    steps: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def order(ctx: Context) -> None:
        ctx.log.info("begin")

        def release(undo: Undo[str]) -> None:
            ctx.log.info("ctx in %s", undo.path, extra={"order": 7})
            undo.log.info("undo in %s", undo.path, extra={"order": 7})

        ctx.step("first", reserve, rollback=release)
        ctx.step("second", reserve, rollback=release)
        ctx.log.info("before the failure")
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        durable.start(code.workflow, execution_id="one")
        durable.run()

    lines = logged(capsys)
    common = {"workflow": "changing", "execution": "one"}
    assert [line["message"] for line in lines] == [
        "begin",
        "before the failure",
        "ctx in second",
        "undo in second",
        "ctx in first",
        "undo in first",
    ]
    assert all({**line, **common} == line for line in lines)
    assert all(line["order"] == 7 for line in lines[2:])
    own = {"step": "second", "attempt": 1, "rollback": True}
    assert {**lines[3], **own} == lines[3]


@pytest.mark.rule("D12")
def test_each_attempt_of_a_rollback_logs(capsys: pytest.CaptureFixture[str]) -> None:
    def order(ctx: Context) -> None:
        def release(undo: Undo[str]) -> None:
            ctx.log.info("attempt %s", undo.attempt)
            if undo.attempt < 3:
                raise ConnectionError("no line")

        ctx.step("first", reserve, rollback=release, rollback_retry=Retry(3, backoff_base=60))
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        durable.start(code.workflow)
        durable.run()

    assert [line["message"] for line in logged(capsys)] == ["attempt 1", "attempt 2", "attempt 3"]


@pytest.mark.rule("D12")
@pytest.mark.parametrize("scope", ["block", "loop"])
def test_the_context_of_a_block_or_a_turn_logs_in_a_rollback_too(
    scope: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def inside(ctx: Context) -> None:
        ctx.step("first", reserve, rollback=lambda undo: ctx.log.info("releasing %s", undo.path))

    def order(ctx: Context) -> None:
        if scope == "block":
            ctx.try_block("block", inside)
        else:
            ctx.loop("loop", lambda ctx: Break(inside(ctx)))
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        durable.start(code.workflow)
        durable.run()

    path = "block/first" if scope == "block" else "loop[0]/first"
    assert [line["message"] for line in logged(capsys)] == [f"releasing {path}"]


# --- operations ------------------------------------------------------------------------------------------------------------

OPERATIONS: dict[str, Callable[[Context], object]] = {
    "step": lambda ctx: ctx.step("inner", reserve),
    "step of a known name": lambda ctx: ctx.step("reserve", reserve),
    "try_step": lambda ctx: ctx.try_step("inner", reserve),
    "try_block": lambda ctx: ctx.try_block("inner", lambda ctx: None),
    "loop": lambda ctx: ctx.loop("inner", lambda ctx: Break(None)),
    "sleep": lambda ctx: ctx.sleep("inner", 1),
    "sleep of zero": lambda ctx: ctx.sleep("inner", 0),
    "sleep_until": lambda ctx: ctx.sleep_until("inner", datetime(2000, 1, 1, tzinfo=UTC)),
    "queue.next": lambda ctx: ctx.queue.next("inner"),
    "queue.next_batch": lambda ctx: ctx.queue.next_batch("inner", timeout=0),
    "wait_for": lambda ctx: ctx.wait_for("inner", reserve, every=60),
    "rollback_checkpoint": lambda ctx: ctx.rollback_checkpoint("inner"),
    "version": lambda ctx: ctx.version("inner", 2),
    "removed": lambda ctx: ctx.removed("inner", "step"),
    "now": lambda ctx: ctx.now(),
    "uuid": lambda ctx: ctx.uuid(),
    "random": lambda ctx: ctx.random(),
}
each_operation = pytest.mark.parametrize("use", OPERATIONS.values(), ids=OPERATIONS.keys())


@each_operation
@pytest.mark.rule("D11")
@pytest.mark.parametrize("steps", [1, 20])
def test_an_operation_in_a_rollback_is_refused_and_says_where_it_is(
    use: Callable[[Context], object], steps: int
) -> None:
    def order(ctx: Context) -> None:
        ctx.step("reserve", reserve, rollback=lambda undo: use(ctx))
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        error = execution.rollback.error
        assert (execution.status, execution.error.type, execution.rollback.outcome) == (
            "failed",
            "ValueError",
            "failed",
        )
        assert (error.type, durable.faults.bodies) == ("NestedStep", ["reserve", "reserve"])
        assert "rollback of step 'reserve'" in error.message
        assert "thread" not in error.message


@each_operation
@pytest.mark.rule("D11")
def test_an_operation_that_a_rollback_catches_leaves_no_trace(use: Callable[[Context], object]) -> None:
    refused: list[str] = []

    def order(ctx: Context) -> None:
        def release(undo: Undo[str]) -> None:
            try:
                use(ctx)
            except NestedStep as error:
                refused.append(type(error).__name__)

        ctx.step("first", reserve, rollback=release)
        ctx.step("second", reserve, rollback=release)
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=20) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.rollback.outcome, refused) == ("completed", ["NestedStep"] * 2)
        assert [entry.path for entry in execution.history] == ["first", "second", "second", "first"]


@each_operation
@pytest.mark.rule("D11")
def test_the_context_of_a_block_is_refused_in_a_rollback_as_well(use: Callable[[Context], object]) -> None:
    """It belongs to a scope that is over by then, as the workflow's own does: the reason told is the nearer one."""

    def order(ctx: Context) -> None:
        ctx.try_block("block", lambda ctx: ctx.step("reserve", reserve, rollback=lambda undo: use(ctx)))
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        error = execution.rollback.error
        assert (execution.rollback.outcome, error.type) == ("failed", "NestedStep")
        assert "rollback of step 'block/reserve'" in error.message


@pytest.mark.rule("D11")
def test_a_message_is_not_completed_in_a_rollback() -> None:
    def order(ctx: Context) -> None:
        message = ctx.queue.next("ask", "inbox", completable=True)
        ctx.step("reserve", reserve, rollback=lambda undo: message.complete("released"))
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        execution.send("inbox", "hello")
        durable.run()

        error = execution.rollback.error
        assert (execution.rollback.outcome, error.type) == ("failed", "NestedStep")
        assert "rollback of step 'reserve'" in error.message


@pytest.mark.rule("D11")
@pytest.mark.parametrize("nested", ["async", "plain"])
def test_a_body_that_is_refused_says_step_and_a_rollback_says_rollback(nested: str) -> None:
    messages: list[str] = []

    def order(ctx: Context) -> None:
        def use(subject: Any) -> None:
            try:
                ctx.now()
            except NestedStep as error:
                messages.append(str(error))

        async def use_async(subject: Any) -> None:
            use(subject)

        body = use_async if nested == "async" else use
        ctx.step("reserve", body, rollback=body)
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert execution.rollback.outcome == "completed"
        forward, back = messages
        assert "body of step 'reserve'" in forward
        assert "rollback of step 'reserve'" in back
        assert "rollback" not in forward
