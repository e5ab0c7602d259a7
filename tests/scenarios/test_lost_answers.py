"""AWS applies a call, its answer is lost, and the SDK sends it again."""

from __future__ import annotations

import pytest

from durable import Context, Step, workflow
from durable.testing import Harness
from tests.scenarios import table

pytestmark = pytest.mark.usefixtures("no_sweeper")

ran: list[str] = []


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


@workflow
def two_steps(ctx: Context) -> str:
    ctx.step("first", note)
    return ctx.step("second", note)


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    return [two_steps]


@pytest.mark.rule("E3", "E4")
def test_a_claim_whose_answer_was_lost_is_known_as_ones_own(durable: Harness) -> None:
    """H4: the second try is refused, for the lease is held: by this very claim."""
    durable.faults.after(1, durable.faults.lose_answer, operation="UpdateItem", by="Worker")
    start = durable.clock.now()

    execution = durable.start(two_steps)
    durable.run()

    assert (execution.status, ran, durable.clock.now()) == ("completed", ["first", "second"], start)
    assert [i.answer for i in durable.invocations if i.function == "Worker"] == [{"batchItemFailures": []}] * 3


@pytest.mark.rule("E4", "D2")
def test_a_checkpoint_whose_answer_was_lost_is_written_once(durable: Harness) -> None:
    """H5: the fence alone would let the second try through, and the entries in twice."""
    durable.faults.after(2, durable.faults.lose_answer, operation="UpdateItem", by="Worker")
    start = durable.clock.now()

    execution = durable.start(two_steps)
    durable.deliver_once()
    assert table.head(durable, execution.id).revision == 1
    durable.run()

    assert (execution.status, ran, durable.clock.now()) == ("completed", ["first", "second"], start)
    assert table.head(durable, execution.id).revision == 3


@pytest.mark.rule("E3")
def test_a_continuation_whose_answer_was_lost_is_sent_twice_and_works_once(durable: Harness) -> None:
    durable.faults.after(1, durable.faults.lose_answer, operation=durable.sending, by="Worker")

    execution = durable.start(two_steps)
    durable.run()

    assert (execution.status, ran, durable.messages()) == ("completed", ["first", "second"], [])
    assert len(durable.sent) == 4


@pytest.mark.rule("E2", "E3")
@pytest.mark.parametrize("call", [1, 2])
def test_a_start_whose_answer_was_lost_is_one_execution(durable: Harness, call: int) -> None:
    durable.faults.after(call, durable.faults.lose_answer, by="client")

    execution = durable.start(two_steps, execution_id="order-1")
    durable.run()

    assert (execution.status, ran, durable.messages()) == ("completed", ["first", "second"], [])
