"""The stream delivers a change of status twice, late, or never: the trigger only sends a continuation."""

from __future__ import annotations

import pytest

from durable import Context, Step, TerminalError, Undo, workflow
from durable.testing import Harness
from tests.scenarios import table

ran: list[str] = []


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


def refuse(step: Step) -> None:
    ran.append(step.path)
    raise TerminalError("no")


def undo(step: Undo[str]) -> None:
    ran.append(f"undo {step.path}")


@workflow
def fails(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("second", refuse)


ROLLED_BACK = ["first", "second", "undo first"]


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    return [fails]


@pytest.mark.rule("R3", "E3")
def test_a_failure_is_committed_and_its_trigger_comes_from_outside(durable: Harness) -> None:
    """The worker that fails the execution gives the lease back and sends nothing."""
    execution = durable.start(fails)
    for _ in range(3):
        durable.deliver_once()

    head = table.head(durable, execution.id)
    assert (head.status, head.lease, head.due, durable.messages(None)) == ("failing", 0, durable.clock.now(), [])
    assert str(execution.error) == "TerminalError: no"

    trigger = durable.deliver_once()
    assert trigger is not None
    assert (trigger.function, trigger.answer) == ("TerminalFailure", {"batchItemFailures": []})
    assert (execution.status, len(durable.messages()), ran) == ("failing", 1, ["first", "second"])

    durable.run()
    assert (execution.status, ran) == ("failed", ROLLED_BACK)


@pytest.mark.rule("R3", "E3")
def test_a_record_that_comes_twice_rolls_back_once(durable: Harness) -> None:
    """H8: were the trigger to claim, the copy would find it busy, drop the record, and the claimer could die."""
    execution = durable.start(fails)
    for _ in range(4):
        trigger = durable.deliver_once()
    assert trigger is not None
    again = durable.invoke("TerminalFailure", trigger.event)
    assert again.answer == {"batchItemFailures": []}
    durable.faults.in_body(1, durable.faults.die, path="first")

    durable.run()
    late = durable.invoke("TerminalFailure", trigger.event)
    durable.run()

    assert (late.answer, execution.status, ran, durable.messages()) == (
        {"batchItemFailures": []},
        "failed",
        ROLLED_BACK,
        [],
    )


@pytest.mark.rule("R3")
def test_a_trigger_that_dies_is_tried_again(durable: Harness) -> None:
    durable.faults.before(1, durable.faults.die, by="TerminalFailure")
    durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000)

    execution = durable.start(fails)
    durable.run()

    assert (execution.status, ran) == ("failed", ROLLED_BACK)
    assert [i.died for i in durable.invocations if i.function == "TerminalFailure"] == [True, False]


@pytest.mark.rule("R3", "E3")
def test_where_the_stream_is_down_for_good_the_sweeper_brings_the_rollback(durable: Harness) -> None:
    durable.faults.before(1, durable.faults.die, by="TerminalFailure", times=1_000)

    execution = durable.start(fails)
    durable.run()

    assert (execution.status, ran, durable.messages()) == ("failed", ROLLED_BACK, [])


@pytest.mark.rule("R3", "R12")
def test_a_cancel_whose_client_dies_before_it_sends_is_triggered_too(durable: Harness) -> None:
    """H18: the write is all that a client must have done."""
    execution = durable.start(fails)
    durable.deliver_once()
    durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by="client")
    durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000)
    execution.cancel()
    batch = durable.take()  # the execution's own continuation
    assert batch is not None
    batch.lose()

    durable.run()

    assert (execution.status, ran) == ("cancelled", ["first", "undo first"])
