"""A rollback takes its process with it, every time: its retries are used up by that, and it ends (R8, R10)."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import pytest

from durable import Context, Retry, Step, TerminalError, Undo, workflow
from durable.errors import ErrorInfo
from durable.runtime.client.history_view import RollbackOutcome
from durable.testing import Harness

pytestmark = [pytest.mark.rule("R8"), pytest.mark.rule("S4"), pytest.mark.usefixtures("no_sweeper")]

CRASHED = "every attempt took its process with it: it ran out of memory or time, or exited"


def refuse(step: Step) -> None:
    raise TerminalError("no")


@pytest.fixture
def durable(saga: Any) -> Any:
    with Harness(workflows=[saga.workflow], steps_per_invocation=saga.steps) as harness:
        saga.die = harness.faults.die
        yield harness


class Saga:
    """Three steps with rollbacks, of which the second dies so many times, and a step that fails."""

    def __init__(self, deaths: int, retries: int, after: Literal["halt", "continue"], steps: int) -> None:
        self.ran: list[str] = []
        self.attempts: list[int] = []
        self.steps = steps
        self.die: Any = None

        def undo(undo: Undo) -> None:
            self.ran.append(undo.name)
            if undo.name == "second":
                self.attempts.append(undo.attempt)
                if len(self.attempts) <= deaths:
                    self.die()

        @workflow(on_rollback_failure=after)
        def saga(ctx: Context) -> None:
            ctx.step("first", lambda step: None, rollback=undo)
            ctx.step("second", lambda step: None, rollback=undo, rollback_retry=Retry(retries))
            ctx.step("third", lambda step: None, rollback=undo)
            ctx.step("fails", refuse)

        self.workflow = saga


ALWAYS = 1_000


@pytest.fixture
def saga(request: pytest.FixtureRequest) -> Saga:
    return Saga(**request.param)


def each_way(**given: Any) -> pytest.MarkDecorator:
    cases = [{**given, "steps": steps} for steps in (1, 10)]
    return pytest.mark.parametrize("saga", cases, indirect=True, ids=["one step", "many steps"])


@pytest.mark.rule("R10")
@each_way(deaths=ALWAYS, retries=3, after="halt")
def test_it_ends_when_its_retries_are_used_up_and_the_chain_halts(durable: Harness, saga: Saga) -> None:
    execution = durable.start(saga.workflow)
    durable.run()

    assert Counter(saga.ran) == {"third": 1, "second": 5}  # the first death may have been before the body: it is free
    assert saga.attempts == [1, 1, 2, 3, 4]
    assert (execution.status, durable.messages(None)) == ("failed", [])
    crashed = ErrorInfo("ProcessCrashed", CRASHED)
    assert execution.rollback == RollbackOutcome("failed", crashed, not_run=["first"], failed={"second": crashed})


@pytest.mark.rule("R10")
@each_way(deaths=ALWAYS, retries=1, after="continue")
def test_the_others_run_where_the_workflow_says_so(durable: Harness, saga: Saga) -> None:
    execution = durable.start(saga.workflow)
    durable.run()

    assert Counter(saga.ran) == {"third": 1, "second": 3, "first": 1}
    assert (execution.status, durable.messages(None)) == ("failed", [])
    crashed = ErrorInfo("ProcessCrashed", CRASHED)
    assert execution.rollback == RollbackOutcome("failed", crashed, failed={"second": crashed})


@each_way(deaths=4, retries=3, after="halt")
def test_the_last_attempt_may_still_succeed(durable: Harness, saga: Saga) -> None:
    execution = durable.start(saga.workflow)
    durable.run()

    assert Counter(saga.ran) == {"third": 1, "second": 5, "first": 1}
    assert (execution.status, execution.rollback) == ("failed", RollbackOutcome("completed"))


@each_way(deaths=0, retries=0, after="halt")
def test_processes_that_die_before_its_body_charge_it_nothing(durable: Harness, saga: Saga) -> None:
    execution = durable.start(saga.workflow)
    while "third" not in saga.ran:
        durable.deliver_once()
    for _ in range(8):
        durable.faults.after(1, durable.faults.die, by="Worker", operation="UpdateItem")  # its claim
        durable.deliver_once()
        durable.run(60)
    durable.run()

    assert Counter(saga.ran) == {"third": 1, "second": 1, "first": 1}
    assert (execution.status, execution.rollback) == ("failed", RollbackOutcome("completed"))
