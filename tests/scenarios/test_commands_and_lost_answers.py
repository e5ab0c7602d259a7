"""A worker's write is applied, its answer is lost, and a command comes in before the SDK sends the write again.

The second try is refused, and the worker recognises its own write on a head that is newer than what it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from durable import Context, Execution, InvalidState, Step, TerminalError, Undo, workflow
from durable.testing import Harness

WRITES = ("UpdateItem", "TransactWriteItems")
ALL = ["first", "second", "third"]

ran: list[str] = []


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


def keep(step: Step) -> str:
    step.db.put("kept", step.path)
    return note(step)


def refuse(step: Step) -> None:
    note(step)
    raise TerminalError("no")


def undo(undo: Undo[str]) -> None:
    ran.append(f"undo {undo.path}")


@workflow
def order(ctx: Context) -> str:
    """A plain step, a version gate that is recorded first, one whose start is recorded, and one that writes in a transaction."""
    ctx.step("first", note, rollback=undo)
    ctx.version("way", 2)
    ctx.step("second", note, rollback=undo, semantics="at_most_once")
    return ctx.step("third", keep, rollback=undo)


@workflow
def failing(ctx: Context) -> None:
    for name in ("first", "second"):
        ctx.step(name, note, rollback=undo)
    ctx.step("third", refuse)


def commanded(
    durable: Harness, target: Any, command: Callable[[Execution[Any, Any]], None]
) -> Iterator[tuple[str, Execution[Any, Any], list[str]]]:
    """One execution after the other, each commanded after another write of its workers, whose answer is lost.

    Yields the moment, the execution, and what had run when the command was accepted.
    """
    for nth in range(1, 100):
        ran.clear()
        before: list[list[str]] = []
        moments: list[int] = []
        execution = durable.start(target)

        def strike(before: list[list[str]] = before, moments: list[int] = moments, it: Any = execution) -> None:
            moments.append(1)
            try:
                command(it)
                before.append(list(ran))
            except InvalidState:
                pass  # it had ended
            durable.faults.lose_answer()

        durable.faults.after(nth, strike, operation=WRITES, by="Worker")
        durable.run()
        durable.faults.clear()
        if not moments:
            assert nth > 4
            return
        if before:
            yield f"write {nth}", execution, before[0]


@pytest.mark.rule("R12", "E14", "E4")
@pytest.mark.parametrize("target", [order, failing], ids=lambda target: target.name)
@pytest.mark.parametrize("steps", [1, 99])
def test_a_terminated_execution_stays_terminated_and_nothing_more_runs(steps: int, target: Any) -> None:
    with Harness(workflows=[target], steps_per_invocation=steps) as durable:
        problems = []
        for moment, execution, before in commanded(durable, target, Execution.terminate):
            durable.run(duration=3_600)
            if (execution.status, ran, durable.messages(None)) != ("terminated", before, []):
                problems.append((moment, execution.status, before, list(ran)))
        assert problems == []


@pytest.mark.rule("E7", "E14")
@pytest.mark.parametrize("steps", [1, 99])
def test_a_paused_execution_rests_and_once_resumed_runs_the_rest_once(steps: int) -> None:
    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        problems = []
        for moment, execution, before in commanded(durable, order, Execution.pause):
            durable.run(duration=3_600)
            rested = (execution.status, list(ran))
            execution.resume()
            durable.run()
            found = (*rested, execution.status, list(ran), durable.messages(None))
            if found != ("paused", before, "completed", ALL, []):
                problems.append((moment, before, found))
        assert problems == []


@pytest.mark.rule("R12", "R4", "E14")
@pytest.mark.parametrize("steps", [1, 99])
def test_a_cancelled_execution_rolls_back_what_had_run_and_runs_nothing_more(steps: int) -> None:
    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        problems = []
        for moment, execution, before in commanded(durable, order, Execution.cancel):
            back = [f"undo {name}" for name in reversed(before)]
            if (execution.status, ran, durable.messages(None)) != ("cancelled", before + back, []):
                problems.append((moment, execution.status, before, list(ran)))
        assert problems == []


@pytest.mark.rule("E7", "E4")
@pytest.mark.parametrize("steps", [1, 99])
def test_one_that_is_paused_and_resumed_in_between_runs_every_step_once(steps: int) -> None:
    def pause_and_resume(execution: Execution[Any, Any]) -> None:
        execution.pause()
        execution.resume()

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        problems = []
        for moment, execution, _ in commanded(durable, order, pause_and_resume):
            if (execution.status, ran, durable.messages(None)) != ("completed", ALL, []):
                problems.append((moment, execution.status, list(ran)))
        assert problems == []


@pytest.mark.rule("R12", "E4", "Q5")
@pytest.mark.parametrize("steps", [1, 99])
def test_whatever_comes_in_between_changes_nothing_that_was_recorded(steps: int) -> None:
    def send_and_cancel(execution: Execution[Any, Any]) -> None:
        execution.send("letters", "hello")
        execution.cancel(rollback=False)

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        problems = []
        for moment, execution, before in commanded(durable, order, send_and_cancel):
            recorded = [entry.path for entry in execution.history if entry.kind == "step" and entry.output is not None]
            if (execution.status, ran, recorded) != ("cancelled", before, before):
                problems.append((moment, execution.status, before, list(ran), recorded))
        assert problems == []
