"""A continuation is delivered twice: one copy works, and the other must neither work too nor be thrown away."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from durable import Context, Step, workflow
from durable.testing import Harness
from tests.emulators import moto_only

pytestmark = pytest.mark.usefixtures("no_sweeper")

ran: list[str] = []


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


@workflow
def two_steps(ctx: Context) -> str:
    ctx.step("first", note)
    return ctx.step("second", note)


@workflow
def sleeper(ctx: Context) -> str:
    ctx.step("first", note)
    ctx.sleep("nap", 600)
    return ctx.step("second", note)


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    return [two_steps, sleeper]


@pytest.mark.rule("E3", "E4", "E6")
def test_a_copy_that_meets_the_lease_is_kept_and_takes_over_when_the_holder_dies(durable: Harness) -> None:
    """H1: both copies are one message, and deleting the busy one would delete the holder's own."""
    execution = durable.start(two_steps)
    batch = durable.take()
    assert batch is not None
    durable.faults.in_body(1, batch.deliver)  # the second copy, while the first is at work
    durable.faults.in_body(1, durable.faults.die)

    batch.deliver()
    assert len(durable.messages()) == 1  # the dead one's, and held
    durable.run()

    assert (execution.status, execution.output, ran) == ("completed", "second", ["first", "second"])


@pytest.mark.rule("E3", "E4", "E6")
def test_another_message_that_meets_the_lease_is_kept_too(durable: Harness) -> None:
    """H1b: a foreign message of the same revision may be the last one that is left."""
    execution = durable.start(two_steps)
    durable.start(two_steps, execution_id=execution.id)  # sends again
    first, second = durable.take(), durable.take()
    assert first is not None
    assert second is not None
    durable.faults.in_body(1, second.deliver)
    durable.faults.in_body(1, first.lose)
    durable.faults.in_body(1, durable.faults.die)

    first.deliver()
    durable.run()

    assert (execution.status, ran) == ("completed", ["first", "second"])


@pytest.mark.rule("E3", "E6")
@pytest.mark.parametrize("received", [1, 2])
def test_a_copy_of_the_message_that_was_used_up_sends_what_its_dead_owner_did_not(
    durable: Harness, received: int
) -> None:
    """H2: the receive count does not say whether an old message is the producer's own; the claim does."""
    execution = durable.start(two_steps)
    batch = durable.take()
    assert batch is not None
    durable.faults.before(1, durable.faults.die, operation=durable.sending, by="Worker")
    for _ in range(received - 1):
        durable.faults.in_body(1, batch.deliver)

    batch.invoke()
    assert (ran, durable.sent[-1].id) == (["first"], batch.records[0]["messageId"])  # recorded, nothing sent
    batch.deliver()
    durable.run()

    assert (execution.status, ran) == ("completed", ["first", "second"])


@moto_only  # MiniStack refuses the receipt of a message that is gone
@pytest.mark.rule("E3", "E6")
def test_a_copy_of_a_message_that_did_its_work_is_deleted(durable: Harness) -> None:
    execution = durable.start(two_steps)
    batch = durable.take()
    assert batch is not None
    batch.invoke()
    durable.run()
    sent = len(durable.sent)

    batch.deliver()

    assert (execution.status, ran, len(durable.sent), durable.messages()) == (
        "completed",
        ["first", "second"],
        sent,
        [],
    )


@pytest.mark.rule("E3")
@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("flow", [two_steps, sleeper])
def test_no_step_runs_twice_and_no_chain_multiplies_when_every_message_comes_again(
    durable: Harness, copies: int, flow: Any
) -> None:
    durable.duplicate_all(copies)

    execution = durable.start(flow)
    durable.run()

    assert (execution.status, ran, durable.messages()) == ("completed", ["first", "second"], [])
    assert len(durable.sent) <= 3 * (copies + 1)  # a resend for each copy that came too late, at most


@pytest.mark.rule("E3")
def test_messages_come_in_another_order(durable: Harness) -> None:
    execution = durable.start(two_steps)
    first = durable.take()
    assert first is not None
    first.invoke()
    second = durable.take()
    assert second is not None
    second.deliver()
    first.deliver()
    durable.run()

    assert (execution.status, ran, durable.messages()) == ("completed", ["first", "second"], [])


@pytest.mark.rule("E3", "E6")
def test_a_message_that_comes_early_is_held_until_it_is_time(durable: Harness) -> None:
    """H20: an early timer that is deleted, and not armed again, is the last one."""
    execution = durable.start(sleeper)
    durable.run(duration=1)
    timer = durable.messages()[0]
    assert (ran, timer.visible - durable.clock.now()) == (["first"], 599_000)
    copy = durable.duplicate(timer)
    original = next(message for message in durable.messages() if message.copy == 0)
    assert original.id == copy.id

    durable.deliver_once()
    assert [(m.visible - durable.clock.now()) // 1000 for m in durable.messages()] == [599, 599]
    durable.run()

    assert (execution.status, ran, durable.messages()) == ("completed", ["first", "second"], [])
    (sleep,) = [entry for entry in execution.history if entry.kind == "sleep"]
    assert sleep.ended_at == sleep.started_at + timedelta(minutes=10)


@pytest.mark.rule("E3", "E6")
def test_a_copy_that_comes_early_carries_the_execution_when_the_timer_is_lost(durable: Harness) -> None:
    execution = durable.start(sleeper)
    durable.run(duration=1)
    durable.duplicate(durable.messages()[0])
    durable.deliver_once()
    durable.run(duration=598)
    durable.clock.advance(1)

    timers = [durable.take(), durable.take()]
    lost = [timer for timer in timers if timer is not None]
    lost[0].lose()
    lost[1].deliver()
    durable.run()

    assert (execution.status, ran) == ("completed", ["first", "second"])
