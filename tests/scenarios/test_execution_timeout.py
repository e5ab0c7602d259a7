"""An execution that takes longer than it may is a failure like any other: it is rolled back (R13)."""

from __future__ import annotations

from typing import Any

import pytest

from durable import Context, ErrorInfo, Retry, Step, Undo, workflow
from durable.runtime.client.history_view import RollbackOutcome
from durable.testing import Harness

ran: list[str] = []
slow: dict[str, Any] = {}


def note(step: Step) -> str:
    ran.append(step.path)
    slow.get(step.path, int)()
    return step.path


def busy(step: Step) -> None:
    ran.append(step.path)
    raise ConnectionError("busy")


def undo(step: Undo[Any]) -> None:
    ran.append(f"undo {step.path} {step.status}")


@workflow(timeout=600)
def sleeps(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.sleep("nap", 3600)
    ctx.step("second", note, rollback=undo)


@workflow(timeout=600)
def tries(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("busy", busy, rollback=undo, retry=Retry(100, backoff_base=200, backoff_max=200, jitter=False))


@workflow(timeout=600)
def steps(ctx: Context) -> None:
    for _ in range(3):
        ctx.step("step", note, rollback=undo)


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    slow.clear()
    return [sleeps, tries, steps]


TIMED_OUT = "the execution took longer than its timeout, 600 s"


def ended(durable: Harness, execution: Any) -> tuple[str, str, str, RollbackOutcome]:
    error: ErrorInfo = execution.error
    return execution.status, error.type, error.message, execution.rollback


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    ("flow", "bodies"),
    [
        (sleeps, ["first", "undo first completed"]),
        (tries, ["first", "busy", "busy", "busy", "undo busy failed", "undo first completed"]),
    ],
)
def test_a_wait_ends_at_the_timeout_and_what_has_started_is_rolled_back(
    durable: Harness, flow: Any, bodies: list[str]
) -> None:
    start = durable.clock.now()
    execution = durable.start(flow)
    durable.run()

    assert ran == bodies
    assert ended(durable, execution) == ("failed", "ExecutionTimedOut", TIMED_OUT, RollbackOutcome("completed"))
    assert durable.clock.now() - start == 600_000


@pytest.mark.rule("R13")
def test_no_step_begins_after_the_timeout(durable: Harness) -> None:
    execution = durable.start(steps)
    durable.deliver_once()
    durable.clock.advance(600)
    durable.run()

    assert ran == ["step", "undo step completed"]
    assert ended(durable, execution) == ("failed", "ExecutionTimedOut", TIMED_OUT, RollbackOutcome("completed"))


@pytest.mark.rule("R13", "R4")
def test_a_step_that_may_have_started_before_the_timeout_is_rolled_back(durable: Harness) -> None:
    slow["step#2"] = lambda: (durable.clock.advance(30), durable.faults.die())
    execution = durable.start(steps)
    durable.deliver_once()
    durable.clock.advance(560)
    durable.run()

    assert ran == ["step", "step#2", "undo step#2 unfinished", "undo step completed"]
    assert ended(durable, execution) == ("failed", "ExecutionTimedOut", TIMED_OUT, RollbackOutcome("completed"))


@pytest.mark.rule("R13")
def test_an_execution_that_is_in_time_is_left_alone(durable: Harness) -> None:
    execution = durable.start(steps)
    durable.run()
    durable.run(duration=3_600)

    assert (execution.status, ran) == ("completed", ["step", "step#2", "step#3"])
