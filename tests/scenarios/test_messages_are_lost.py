"""Messages vanish, come back too early, or wait for somebody who is asleep: the sweeper, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from durable import Context, Step, TerminalError, Undo, workflow
from durable.testing import Harness
from tests.scenarios import table

ran: list[str] = []


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


def refuse(step: Step) -> None:
    raise TerminalError("no")


def undo(step: Undo[str]) -> None:
    ran.append(f"undo {step.path}")


@workflow
def saga(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.sleep("nap", 600)
    ctx.step("second", note, rollback=undo)
    ctx.step("third", refuse)


ALL = ["first", "second", "undo second", "undo first"]


@pytest.fixture
def durable() -> Iterator[Harness]:
    ran.clear()
    with Harness(workflows=[saga]) as harness:
        yield harness


def messages_sent(durable: Harness) -> int:
    execution = durable.start(saga)
    durable.run()
    assert (execution.status, ran) == ("failed", ALL)
    ran.clear()
    return len(durable.sent)


@pytest.mark.rule("E3")
def test_whichever_message_is_lost_the_sweeper_brings_the_execution_back(durable: Harness) -> None:
    problems = []
    for nth in range(1, messages_sent(durable) + 1):
        durable.faults.clear()
        ran.clear()
        lost: list[int] = []
        by = "client" if nth == 1 else None
        number = 1 if nth == 1 else nth - 1
        durable.faults.before(
            number, lambda lost=lost: (lost.append(1), durable.faults.swallow()), operation=durable.sending, by=by
        )
        execution = durable.start(saga)
        durable.run()
        if (execution.status, ran, lost, durable.messages()) != ("failed", ALL, [1], []):
            problems.append((nth, execution.status, list(ran), lost))
    assert problems == []


@pytest.mark.rule("E3")
def test_every_message_but_the_sweepers_is_lost(durable: Harness) -> None:
    durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by="client", times=1_000)
    for function in ("Worker", "TerminalFailure"):
        durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by=function, times=1_000)

    execution = durable.start(saga)
    durable.run()

    assert (execution.status, ran) == ("failed", ALL)


@pytest.mark.rule("E3", "E7")
def test_a_sleep_that_was_paused_and_resumed_is_not_swept_again_and_again(durable: Harness) -> None:
    """V1: due at once, it would be sent for at every sweep, and each message be held: growth without bound."""
    execution = durable.start(saga)
    durable.run(duration=1)
    execution.pause()
    execution.resume()
    head = table.head(durable, execution.id)
    assert (head.status, head.due, head.wake) == ("waiting", head.wake, head.created + 600_000)

    for _ in range(3):
        durable.sweep()
    durable.run(duration=598)
    assert len(durable.sent) == 4  # the start, after the first step, the timer, the timer of the resume

    durable.run()
    assert (execution.status, ran, durable.messages()) == ("failed", ALL, [])


@pytest.mark.rule("E7")
def test_nobody_sends_for_what_is_paused(durable: Harness) -> None:
    execution = durable.start(saga)
    durable.deliver_once()
    execution.pause()
    durable.run()
    sent = len(durable.sent)

    durable.run(duration=3_600)
    durable.sweep()

    assert (execution.status, len(durable.sent), ran) == ("paused", sent, ["first"])


@pytest.mark.rule("E3")
def test_what_is_held_by_a_running_invocation_is_not_sent_for(durable: Harness) -> None:
    execution = durable.start(saga)
    sent: list[int] = []

    def sweep() -> None:
        durable.sweep()
        sent.append(len(durable.sent))

    durable.clock.advance(300)
    durable.faults.in_body(1, sweep)
    durable.deliver_once()

    assert (sent, execution.status, ran) == ([1], "running", ["first"])


@pytest.mark.rule("E3")
def test_one_sweep_sends_one_continuation_however_many_sweepers_there_are(durable: Harness) -> None:
    durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by="client")
    execution = durable.start(saga)
    durable.clock.advance(300)
    nested: list[Any] = []

    def another() -> None:
        if not nested:
            nested.append(durable.sweep())

    durable.faults.before(1, another, operation="UpdateItem", by="Sweeper")
    durable.sweep()

    assert (len(durable.sent), len(durable.messages())) == (1, 1)
    durable.run()
    assert (execution.status, ran) == ("failed", ALL)


@pytest.mark.rule("E3", "E4", "E6")
def test_a_message_that_is_visible_again_before_the_lease_is_over_is_held(durable: Harness) -> None:
    """H19: correctness does not rest on the queue's visibility."""
    execution = durable.start(saga)
    batch = durable.take()
    assert batch is not None
    durable.faults.in_body(1, durable.faults.die)
    batch.invoke()
    assert durable.invocations[-1].died
    batch.release()

    durable.deliver_once()
    (message,) = durable.messages()
    lease = table.head(durable, execution.id).lease
    assert (ran, message.visible) == ([], lease)

    durable.run()
    assert (execution.status, ran) == ("failed", ALL)


@pytest.mark.rule("R12", "E3")
@pytest.mark.parametrize("at_rest", [True, False])
def test_a_cancel_of_which_no_message_is_left_is_found_by_the_sweeper(durable: Harness, at_rest: bool) -> None:
    """The verb's own write makes the execution due: a paused one was not, and a sleeping one much later."""
    execution = durable.start(saga)
    durable.run(duration=1)
    if at_rest:
        execution.pause()
    durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by="client")
    durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by="TerminalFailure")
    start = durable.clock.now()
    execution.cancel()
    durable.run()

    assert (execution.status, ran) == ("cancelled", ["first", "undo first"])
    assert table.head(durable, execution.id).ended - start <= 300_000
