"""An execution is started again with the same id (E2), and its client dies on the way (H18)."""

from __future__ import annotations

import pytest

from durable import AlreadyStarted, Context, InvalidName, Step, workflow
from durable.testing import Harness, ProcessDied

ran: list[str] = []


def note(step: Step, amount: int) -> int:
    ran.append(step.path)
    return amount


@workflow
def order(ctx: Context, amount: int) -> int:
    return ctx.step("first", note, amount)


@workflow
def other(ctx: Context, amount: int) -> int:
    return amount


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    return [order, other]


@pytest.mark.rule("E2")
def test_the_same_id_and_input_is_the_same_execution(durable: Harness) -> None:
    first = durable.start(order, 7, execution_id="order-1")
    second = durable.start(order, 7, execution_id="order-1")
    durable.run()
    third = durable.start(order, 7, execution_id="order-1")
    durable.run()

    assert [execution.output for execution in (first, second, third)] == [7, 7, 7]
    assert (ran, durable.messages()) == (["first"], [])


@pytest.mark.rule("E2")
def test_another_input_or_workflow_under_the_same_id_is_refused(durable: Harness) -> None:
    execution = durable.start(order, 7, execution_id="order-1")

    with pytest.raises(AlreadyStarted, match="'order-1' was started before, with another input"):
        durable.start(order, 8, execution_id="order-1")
    with pytest.raises(AlreadyStarted, match="'order-1' was started before, with another workflow, 'order'"):
        durable.start(other, 7, execution_id="order-1")
    durable.run()

    assert (execution.output, ran) == (7, ["first"])


@pytest.mark.rule("E2")
@pytest.mark.parametrize("execution_id", ["", "a b", "x" * 101, "a/b", "é"])
def test_an_id_of_other_characters_is_refused_before_any_call(durable: Harness, execution_id: str) -> None:
    with pytest.raises(InvalidName, match="an execution id is 1 to 100 characters"):
        durable.start(order, 7, execution_id=execution_id)
    assert durable.calls == []


@pytest.mark.rule("E2", "E3")
def test_a_start_whose_client_died_before_it_sent_is_sent_by_the_next_one(durable: Harness) -> None:
    """H18, without the sweeper."""
    durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000)
    durable.faults.before(1, durable.faults.die, operation=durable.sending, by="client")
    with pytest.raises(ProcessDied):
        durable.start(order, 7, execution_id="order-1")
    assert durable.messages() == []

    execution = durable.start(order, 7, execution_id="order-1")
    durable.run()

    assert (execution.output, ran) == (7, ["first"])


@pytest.mark.rule("E3")
def test_a_start_whose_client_died_and_never_came_back_is_found_by_the_sweeper(durable: Harness) -> None:
    """H18."""
    durable.faults.before(1, durable.faults.die, operation=durable.sending, by="client")
    with pytest.raises(ProcessDied):
        durable.start(order, 7, execution_id="order-1")

    durable.run()

    assert (durable.get(order, "order-1").output, ran) == (7, ["first"])


@pytest.mark.rule("E3", "E7")
def test_a_resume_whose_client_died_before_it_sent_is_found_by_the_sweeper(durable: Harness) -> None:
    """H18: a verb's own write makes the execution due."""
    execution = durable.start(order, 7)
    execution.pause()
    durable.run()
    durable.faults.before(1, durable.faults.die, operation=durable.sending, by="client")
    with pytest.raises(ProcessDied):
        execution.resume()

    durable.run()

    assert (execution.output, ran) == (7, ["first"])


@pytest.mark.rule("E2")
def test_a_start_that_did_not_happen_can_be_made_again(durable: Harness) -> None:
    durable.faults.before(1, durable.faults.die, operation="PutItem", by="client")
    with pytest.raises(ProcessDied):
        durable.start(order, 7, execution_id="order-1")

    execution = durable.start(order, 8, execution_id="order-1")
    durable.run()

    assert (execution.output, ran) == (8, ["first"])
