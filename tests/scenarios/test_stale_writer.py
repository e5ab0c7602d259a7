"""An invocation that lost its lease writes nothing more, and leaves quietly (E4)."""

from __future__ import annotations

from typing import Any

import pytest

from durable import Context, Step, workflow
from durable.runtime.invocation.budget import LEASE_MARGIN
from durable.testing import Harness
from tests.scenarios import table

pytestmark = pytest.mark.usefixtures("no_sweeper")

ran: list[str] = []
answers: list[Any] = []
inside: list[Any] = []  # what happens in the middle of the first body, once


def note(step: Step) -> str:
    ran.append(step.path)
    number = len(ran)
    if inside:
        inside.pop()()
    return f"{step.path} by attempt {number}"


@workflow
def two_steps(ctx: Context) -> str:
    ctx.step("first", note)
    return ctx.step("second", note)


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    inside.clear()
    answers.clear()
    return [two_steps]


@pytest.mark.rule("E4")
def test_a_lease_outlives_the_deadline_of_its_invocation(durable: Harness) -> None:
    execution = durable.start(two_steps)
    leases: list[int] = []
    durable.faults.in_body(1, lambda: leases.append(table.head(durable, execution.id).lease))
    durable.deliver_once()

    assert leases == [durable.invocations[0].deadline + round(LEASE_MARGIN * 1000)]


def overtaken(durable: Harness) -> Any:
    """An execution whose first holder is overtaken in its body: its lease ended early, as no clock would have it."""
    execution = durable.start(two_steps)
    batch = durable.take()
    assert batch is not None

    def another_takes_over() -> None:
        table.end_lease(durable, execution.id)
        batch.invoke()

    inside.append(another_takes_over)
    answers.append(batch.deliver().answer)
    return execution


@pytest.mark.rule("E4")
def test_a_stale_holder_is_refused_and_leaves_quietly(durable: Harness) -> None:
    execution = overtaken(durable)

    assert ran == ["first", "first"]  # at least once, where a lease is torn away
    assert answers[-1] == {"batchItemFailures": []}
    recorded = [(entry.path, entry.output) for entry in execution.history]
    assert recorded == [("first", "first by attempt 2")]  # the one that held the lease
    durable.run()
    assert (execution.status, execution.output, ran) == (
        "completed",
        "second by attempt 3",
        ["first", "first", "second"],
    )


@pytest.mark.rule("E4", "D9")
def test_an_operator_is_told_of_a_lost_lease_and_nothing_is_raised(durable: Harness) -> None:
    overtaken(durable)

    assert [invocation.error for invocation in durable.invocations] == [None] * len(durable.invocations)
    assert all(not invocation.failed for invocation in durable.invocations)
