"""A verb comes in while a body is running: the step is settled, and the verb stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from durable import Context, Execution, Step, Undo, workflow
from durable.runtime.client.history_view import RollbackOutcome
from durable.testing import Harness
from tests.scenarios import table

pytestmark = pytest.mark.usefixtures("no_sweeper")

ran: list[str] = []


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


def undo(step: Undo[str]) -> None:
    ran.append(f"undo {step.path} {step.status} {step.output}")


@workflow
def two_steps(ctx: Context) -> str:
    ctx.step("first", note, rollback=undo)
    return ctx.step("second", note, rollback=undo)


@workflow
def one_step(ctx: Context) -> str:
    return ctx.step("first", note, rollback=undo)


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    return [two_steps, one_step]


def during(durable: Harness, body: int, verb: Callable[[Execution[Any, Any]], object], flow: Any = two_steps) -> Any:
    """An execution that is told something while its nth body runs."""
    execution = durable.start(flow)
    durable.faults.in_body(body, lambda: verb(execution))
    durable.run()
    return execution


@pytest.mark.rule("R12", "E4")
def test_cancel_settles_the_running_step_and_rolls_it_back_too(durable: Harness) -> None:
    """H6: a checkpoint that asked for the fence alone would write `running` over the verb."""
    execution = during(durable, 1, Execution.cancel)

    assert (execution.status, execution.rollback) == ("cancelled", RollbackOutcome("completed"))
    assert ran == ["first", "undo first completed first"]
    assert [(e.path, e.kind, e.status, e.output) for e in execution.history] == [
        ("first", "step", "completed", "first"),
        ("first", "rollback", "completed", None),
    ]


@pytest.mark.rule("R12", "E4")
def test_cancel_in_the_last_step_wins_over_the_end(durable: Harness) -> None:
    execution = during(durable, 1, Execution.cancel, one_step)

    assert (execution.status, ran) == ("cancelled", ["first", "undo first completed first"])


@pytest.mark.rule("R12", "E4")
def test_cancel_without_rollback_settles_the_step_and_ends(durable: Harness) -> None:
    execution = during(durable, 2, lambda execution: execution.cancel(rollback=False))

    assert (execution.status, execution.rollback) == ("cancelled", RollbackOutcome("none"))
    assert ran == ["first", "second"]
    assert [(e.path, e.status) for e in execution.history] == [("first", "completed"), ("second", "completed")]
    assert str(execution.error) == "Cancelled: the execution was cancelled"


@pytest.mark.rule("R12", "E3")
def test_the_holder_that_finds_itself_cancelled_sends_the_continuation(durable: Harness) -> None:
    """H7: the stream's and the client's messages may have come and gone while the lease was held."""
    execution = durable.start(two_steps)

    def cancel_and_lose_the_messages() -> None:
        durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by="Worker")
        execution.cancel()  # whose message is sent by this thread, which works for the worker

    durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by="TerminalFailure")
    durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000)
    durable.faults.in_body(1, cancel_and_lose_the_messages)
    durable.run()

    assert (execution.status, ran) == ("cancelled", ["first", "undo first completed first"])


@pytest.mark.rule("R12", "E4")
def test_terminate_keeps_the_running_step_from_being_recorded(durable: Harness) -> None:
    execution = during(durable, 2, Execution.terminate)

    assert (execution.status, execution.rollback, ran) == ("terminated", RollbackOutcome("none"), ["first", "second"])
    assert [(e.path, e.status) for e in execution.history] == [("first", "completed")]
    assert durable.messages() == []


@pytest.mark.rule("E4", "E7")
def test_pause_settles_the_running_step_and_nothing_more_happens(durable: Harness) -> None:
    """H6: nothing is sent, nothing is due, the lease is given back."""
    execution = during(durable, 1, Execution.pause)
    durable.run(duration=86_400)

    head = table.head(durable, execution.id)
    assert (execution.status, ran, head.lease, head.due, durable.messages()) == ("paused", ["first"], 0, 0, [])
    assert [(e.path, e.status, e.output) for e in execution.history] == [("first", "completed", "first")]

    execution.resume()
    durable.run()
    assert (execution.status, ran) == ("completed", ["first", "second"])


@pytest.mark.rule("E4", "E7")
def test_pause_in_the_last_step_keeps_the_end_for_later(durable: Harness) -> None:
    execution = during(durable, 1, Execution.pause, one_step)
    assert (execution.status, ran) == ("paused", ["first"])

    execution.resume()
    durable.run()

    assert (execution.status, execution.output, ran) == ("completed", "first", ["first"])


@pytest.mark.rule("E3", "E4", "E7")
def test_pause_and_resume_under_a_running_body_do_not_let_a_second_one_in(durable: Harness) -> None:
    """H6b: verbs leave lease and fence alone, or two bodies would overlap after the resume."""

    def pause_and_resume(execution: Execution[Any, Any]) -> None:
        execution.pause()
        execution.resume()
        while durable.deliver_once():
            pass  # the resume's continuation comes at once, and is held

    execution = during(durable, 1, pause_and_resume)

    assert (execution.status, ran) == ("completed", ["first", "second"])


@pytest.mark.rule("R12", "E4")
@pytest.mark.parametrize("verb", [Execution.cancel, Execution.terminate, Execution.pause])
def test_a_verb_whose_step_dies_under_it_stands(durable: Harness, verb: Callable[[Any], None]) -> None:
    execution = durable.start(two_steps)
    durable.faults.in_body(2, lambda: verb(execution))
    durable.faults.in_body(2, durable.faults.die)
    durable.run()

    ends: dict[Any, tuple[str, list[str]]] = {
        Execution.cancel: ("cancelled", ["first", "undo second unfinished None", "undo first completed first"]),
        Execution.terminate: ("terminated", ["first"]),
        Execution.pause: ("paused", ["first"]),
    }
    assert (execution.status, ran) == ends[verb]
