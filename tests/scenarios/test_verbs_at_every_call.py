"""A verb comes in before or after any call of a running invocation: it stands, and nothing that was running undoes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from durable import Context, Execution, InvalidState, Step, Undo, workflow
from durable.testing import Harness
from tests.stores import sampled

pytestmark = pytest.mark.rule("R12", "E4", "E7")

ran: list[str] = []


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


def undo(undo: Undo[str]) -> None:
    ran.append(f"undo {undo.path}")


@workflow
def order(ctx: Context) -> str:
    """A step, what is recorded along with the next one, a wait that parks, and a step after it."""
    ctx.step("first", note, rollback=undo)
    ctx.version("way", 2)
    ctx.sleep("nap", 60)
    return ctx.step("second", note, rollback=undo)


ALL = ["first", "second"]


def struck(durable: Harness, verb: Callable[[Execution[Any, Any]], None]) -> Iterator[tuple[str, Execution[Any, Any]]]:
    """One execution after the other, each told something at another moment: before or after each call of its workers."""
    calls = calls_of_workers(durable)
    assert calls > 6
    for moment in ("before", "after"):
        for nth in sampled(range(1, calls + 1), 4):
            ran.clear()
            told: list[str] = []
            execution = durable.start(order)
            getattr(durable.faults, moment)(
                nth, lambda told=told, it=execution: told.append(tell(it, verb)), by="Worker"
            )
            durable.run()
            durable.faults.clear()
            assert len(told) == 1
            if told != ["it had ended"]:
                yield f"{moment} call {nth}", execution


def calls_of_workers(durable: Harness) -> int:
    """How many calls the workers make for an execution that is told nothing."""
    before = len(durable.calls)
    durable.start(order)
    durable.run()
    return sum(call.by == "Worker" for call in durable.calls[before:])


def tell(execution: Execution[Any, Any], verb: Callable[[Execution[Any, Any]], None]) -> str:
    try:
        verb(execution)
    except InvalidState:
        return "it had ended"
    return "told"


@pytest.mark.parametrize("steps", [1, 99])
def test_a_cancelled_execution_ends_cancelled_and_what_had_run_is_rolled_back(steps: int) -> None:
    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        problems: list[Any] = []
        for moment, execution in struck(durable, Execution.cancel):
            forward = [name for name in ran if not name.startswith("undo ")]
            back = [f"undo {name}" for name in reversed(forward)]
            found = (execution.status, execution.rollback.outcome, ran, durable.messages(None))
            if found != ("cancelled", "completed" if back else "none", ALL[: len(forward)] + back, []):
                problems.append((moment, found))
        assert problems == []


@pytest.mark.parametrize("steps", [1, 99])
def test_a_terminated_execution_ends_there_and_nothing_more_runs(steps: int) -> None:
    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        problems: list[Any] = []
        for moment, execution in struck(durable, Execution.terminate):
            found = (execution.status, execution.rollback.outcome, ran, durable.messages(None))
            recorded = [entry.path for entry in execution.history if entry.kind == "step"]
            if found != ("terminated", "none", ALL[: len(ran)], []) or len(ran) - len(recorded) not in (0, 1):
                problems.append((moment, found, recorded))
        assert problems == []


@pytest.mark.parametrize("steps", [1, 99])
def test_a_paused_execution_rests_and_once_resumed_runs_what_is_left_and_no_more(steps: int) -> None:
    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        problems: list[Any] = []
        for moment, execution in struck(durable, Execution.pause):
            durable.run(duration=3_600)
            found = (execution.status, list(ran), durable.messages(None))
            if found != ("paused", ALL[: len(ran)], []):
                problems.append((moment, found))
            execution.resume()
            durable.run()
            if (execution.status, execution.output, ran) != ("completed", "second", ALL):
                problems.append((moment, execution.status, list(ran)))
        assert problems == []
