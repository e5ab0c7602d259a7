"""What is rolled back, when, and in which order (R1 to R6, R17)."""

from __future__ import annotations

from typing import Any

import pytest

from durable import Context, ErrorInfo, Retry, RollbackError, Step, StepFailed, TerminalError, Undo, workflow
from durable.runtime.client.history_view import RollbackOutcome
from durable.testing import Harness

ran: list[str] = []


def note(step: Step, *arguments: Any) -> Any:
    ran.append(step.path)
    return arguments[0] if arguments else None


def refuse(step: Step) -> None:
    ran.append(step.path)
    raise TerminalError("no")


def tire(step: Step) -> None:
    raise ConnectionError("down")


def undo(step: Undo[Any], *arguments: Any) -> None:
    ran.append(f"undo {step.path} {step.completed} {step.output}")


@workflow
def mixed(ctx: Context) -> None:
    """Completed with an output, completed with None, without a rollback, failed and handled, and the one that fails."""
    ctx.step("output", note, "value", rollback=undo)
    ctx.step("none", note, rollback=undo)
    ctx.step("no rollback", note)
    assert not ctx.try_step("handled", refuse, rollback=undo).ok
    ctx.step("after handled", note, 1, rollback=undo)
    ctx.step("fatal", refuse, rollback=undo)
    ctx.step("never", note, rollback=undo)


@workflow
def loop_of_names(ctx: Context) -> None:
    for item in ("a", "b", "c"):
        ctx.step("same", note, item, rollback=lambda step, given: ran.append(f"undo {step.path} {given} {item}"))
    raise RuntimeError("plain")


@workflow
def handled(ctx: Context) -> str:
    ctx.step("first", note, rollback=undo)
    for _ in range(2):
        try:
            ctx.step("refused", refuse, rollback=undo)
        except StepFailed as error:
            ran.append(error.kind)
    return "well"


@workflow
def raises_rollback(ctx: Context) -> None:
    def give_up(step: Step) -> None:
        raise RollbackError("take it back")

    ctx.step("first", note, rollback=undo)
    ctx.try_step("gives up", give_up, rollback=undo)  # a demanded rollback is not among the kinds that are caught


@workflow
def exhausts(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("tires", tire, rollback=undo, retry=Retry(1, backoff_base=0))


@workflow
def plain_bug(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    raise KeyError("bug")


@workflow
def exits(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    raise SystemExit(3)


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    return [mixed, loop_of_names, handled, raises_rollback, exhausts, plain_bug, exits]


@pytest.mark.rule("R1", "R4", "R5")
def test_every_started_step_with_a_rollback_is_rolled_back_in_reverse_order_of_starts(durable: Harness) -> None:
    execution = durable.start(mixed)
    durable.run()

    assert ran == [
        "output",
        "none",
        "no rollback",
        "handled",
        "after handled",
        "fatal",
        "undo fatal False None",
        "undo after handled True 1",
        "undo handled False None",
        "undo none True None",
        "undo output True value",
    ]
    assert (execution.status, execution.rollback) == ("failed", RollbackOutcome("completed"))
    assert [(e.path, e.kind, e.status) for e in execution.history[6:]] == [
        (path, "rollback", "completed") for path in ("fatal", "after handled", "handled", "none", "output")
    ]


@pytest.mark.rule("R5", "D13")
def test_repeated_names_are_rolled_back_each_on_its_own(durable: Harness) -> None:
    execution = durable.start(loop_of_names)
    durable.run()

    assert ran == ["same", "same#2", "same#3", "undo same#3 c c", "undo same#2 b b", "undo same a a"]
    assert execution.error == ErrorInfo("RuntimeError", "plain")


@pytest.mark.rule("R2", "F6")
def test_a_failure_that_is_handled_rolls_nothing_back(durable: Harness) -> None:
    execution = durable.start(handled)
    durable.run()

    assert (execution.status, execution.output, execution.rollback) == ("completed", "well", RollbackOutcome("none"))
    assert set(ran) == {"first", "refused", "refused#2", "critical"}


@pytest.mark.rule("R2", "R11", "R17")
@pytest.mark.parametrize(
    ("flow", "error", "undone"),
    [
        (raises_rollback, ErrorInfo("RollbackError", "take it back"), ["undo gives up False None"]),
        (exhausts, ErrorInfo("ConnectionError", "down"), ["undo tires False None"]),
        (plain_bug, ErrorInfo("KeyError", "'bug'"), []),
        (exits, ErrorInfo("SystemExit", "3"), []),
    ],
)
def test_whatever_ends_an_execution_badly_rolls_it_back(
    durable: Harness, flow: Any, error: ErrorInfo, undone: list[str]
) -> None:
    execution = durable.start(flow)
    durable.run()

    assert ran == ["first", *undone, "undo first True None"]
    assert (execution.status, execution.rollback) == ("failed", RollbackOutcome("completed"))
    assert (execution.error.type, execution.error.message) == (error.type, error.message)
