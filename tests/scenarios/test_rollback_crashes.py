"""The process dies while an execution is rolled back: the interrupted rollback runs again, a finished one never (R8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from durable import Context, Retry, Step, TerminalError, Undo, workflow
from durable.runtime.client.history_view import RollbackOutcome
from durable.testing import Harness

pytestmark = pytest.mark.usefixtures("no_sweeper")

ran: list[str] = []
dies: dict[str, Any] = {}


def note(step: Step) -> str:
    return step.path


def refuse(step: Step) -> None:
    raise TerminalError("no")


def undo(step: Undo[str]) -> None:
    ran.append(f"{step.path} {step.output} {step.attempt} {step.idempotency_key[:4]}")
    dies.pop(step.path, int)()


@workflow
def saga(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("second", note, rollback=undo, rollback_retry=Retry(1, backoff_base=60, backoff_max=60))
    ctx.step("third", note, rollback=undo)
    ctx.step("fails", refuse)


@pytest.fixture(params=[1, 10])
def durable(request: pytest.FixtureRequest) -> Iterator[Harness]:
    ran.clear()
    dies.clear()
    with Harness(workflows=[saga], steps_per_invocation=request.param) as harness:
        yield harness


def bodies() -> list[str]:
    return [line.rpartition(" ")[0] for line in ran]


@pytest.mark.rule("R8", "R5")
def test_the_interrupted_one_runs_again_and_a_finished_one_never(durable: Harness) -> None:
    dies["second"] = durable.faults.die
    execution = durable.start(saga)
    durable.run()

    assert bodies() == ["third third 1", "second second 1", "second second 1", "first first 1"]
    assert ran[1] == ran[2]  # the same idempotency key
    assert (execution.status, execution.rollback) == ("failed", RollbackOutcome("completed"))


@pytest.mark.rule("R3", "R8")
def test_a_rollback_begins_although_the_process_that_failed_is_gone_and_every_other_dies_once(
    durable: Harness,
) -> None:
    for path in ("first", "second", "third"):
        dies[path] = durable.faults.die
    execution = durable.start(saga)
    durable.run()

    assert bodies() == [f"{path} {path} 1" for path in ("third", "third", "second", "second", "first", "first")]
    assert (execution.status, execution.rollback) == ("failed", RollbackOutcome("completed"))


@pytest.mark.rule("R8")
def test_a_warm_process_is_not_needed(durable: Harness) -> None:
    durable.faults.on_body.append(lambda path: durable.restart_processes())
    execution = durable.start(saga)
    durable.run()

    assert bodies() == ["third third 1", "second second 1", "first first 1"]
    assert execution.status == "failed"


@pytest.mark.rule("R8", "E3")
def test_every_message_of_a_rollback_comes_three_times(durable: Harness) -> None:
    durable.duplicate_all(2)
    execution = durable.start(saga)
    durable.run()

    assert bodies() == ["third third 1", "second second 1", "first first 1"]
    assert (execution.status, durable.messages()) == ("failed", [])


@pytest.mark.rule("R12")
def test_terminate_in_the_middle_of_a_rollback_stops_it_there(durable: Harness) -> None:
    execution = durable.start(saga)
    dies["second"] = execution.terminate
    durable.run()

    assert bodies() == ["third third 1", "second second 1"]
    assert (execution.status, execution.rollback) == (
        "terminated",
        RollbackOutcome("failed", not_run=["second", "first"]),
    )


@pytest.mark.rule("R12")
def test_cancel_in_the_middle_of_a_rollback_runs_nothing_twice(durable: Harness) -> None:
    execution = durable.start(saga)
    dies["second"] = execution.cancel
    durable.run()

    assert bodies() == ["third third 1", "second second 1", "first first 1"]
    assert (execution.status, str(execution.error)) == ("failed", "TerminalError: no")


@pytest.mark.rule("R4", "R8", "R12")
def test_a_step_that_may_have_started_is_rolled_back_until_it_is_done(durable: Harness) -> None:
    """The first checkpoint of the rollback fixes the set: whatever dies later, the doubtful step stays in it."""
    execution = durable.start(saga)
    durable.faults.in_body(2, lambda: (execution.cancel(), durable.faults.die()))
    dies["second"] = closed
    dies["first"] = durable.faults.die
    durable.run()

    assert bodies() == ["second None 1", "second None 2", "first first 1", "first first 1"]
    assert (execution.status, execution.rollback) == ("cancelled", RollbackOutcome("completed"))


def closed() -> None:
    raise ConnectionError("the bank is closed until tomorrow")
