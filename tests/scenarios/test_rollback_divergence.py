"""The code no longer matches when an execution is to be rolled back: nothing runs, and it can be mended (R16)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from durable import Context, Step, TerminalError, Undo
from durable.runtime.client.history_view import RollbackOutcome
from durable.testing import Harness
from tests.scenarios.code import Code

ran: list[str] = []


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


def refuse(step: Step) -> None:
    ran.append(step.path)
    raise TerminalError("no")


def undo(step: Undo[str]) -> None:
    ran.append(f"undo {step.path}")


def original(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("second", note, rollback=undo)
    ctx.step("third", refuse)


def renamed(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("other", note, rollback=undo)


def without_rollback(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("second", note)
    ctx.step("third", refuse)


def other_kind(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.sleep("second", 1)


def ends_early(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)


FORWARD = ["first", "second", "third"]
DONE = ["undo second", "undo first"]


def begun(durable: Harness, code: Code, invocations: int) -> str:
    """An execution that has failed, and whose code is then deployed anew."""
    ran.clear()
    execution = durable.start(code.workflow)
    for _ in range(invocations):
        durable.deliver_once()
    return execution.id


@pytest.mark.rule("R16", "D6")
@pytest.mark.parametrize("deployed", [renamed, without_rollback, other_kind, ends_early])
def test_nothing_runs_against_code_that_does_not_match_and_the_mended_code_rolls_back(
    deployed: Callable[[Context], Any],
) -> None:
    code = Code(original)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.get(begun(durable, code, 4))
        assert (execution.status, ran) == ("failing", FORWARD)
        code.deployed = deployed
        durable.run()
        assert (execution.status, ran, durable.messages(None)) == ("diverged", FORWARD, [])
        assert execution.error.type == "HistoryDiverged"
        durable.run(duration=3_600)
        assert ran == FORWARD

        code.deployed = original
        execution.resume()
        assert execution.status == "failing"
        durable.run()

        assert (execution.status, execution.error.type, execution.error.message) == ("failed", "TerminalError", "no")
        assert (ran, execution.rollback) == (FORWARD + DONE, RollbackOutcome("completed"))


@pytest.mark.rule("R16", "R8")
def test_a_chain_that_stopped_in_the_middle_goes_on_with_the_rest() -> None:
    code = Code(original)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.get(begun(durable, code, 6))
        assert (execution.status, ran) == ("rolling_back", [*FORWARD, "undo second"])
        code.deployed = renamed
        durable.run()
        assert (execution.status, ran) == ("diverged", [*FORWARD, "undo second"])

        code.deployed = original
        execution.resume()
        assert execution.status == "rolling_back"
        durable.run()

        assert (execution.status, ran) == ("failed", FORWARD + DONE)


@pytest.mark.rule("R16", "R12")
def test_a_cancelled_execution_whose_code_does_not_match_can_still_be_terminated() -> None:
    code = Code(original)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.get(begun(durable, code, 2))
        code.deployed = renamed
        execution.cancel()
        durable.run()
        assert (execution.status, ran) == ("diverged", ["first", "second"])

        execution.terminate()
        durable.run()
        assert (execution.status, ran) == ("terminated", ["first", "second"])


@pytest.mark.rule("R4", "D6")
def test_a_step_that_may_have_started_before_its_code_diverged_is_rolled_back_when_cancelled() -> None:
    code = Code(original)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.get(begun(durable, code, 1))
        durable.faults.in_body(1, durable.faults.die)
        durable.deliver_once()
        code.deployed = other_first
        durable.run()
        assert (execution.status, ran) == ("diverged", ["first"])

        code.deployed = original
        execution.cancel()
        durable.run()

        assert (execution.status, ran) == ("cancelled", ["first", *DONE])


def other_first(ctx: Context) -> None:
    ctx.step("zeroth", note)
