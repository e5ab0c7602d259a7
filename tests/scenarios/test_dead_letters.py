"""A continuation was received until the queue gave up on it. By itself that proves nothing (protocol rule 11)."""

from __future__ import annotations

from typing import Any

import pytest

from durable import Context, Retry, Step, Undo, workflow
from durable.protocol.continuation import continuation_of
from durable.runtime.client.history_view import RollbackOutcome
from durable.testing import Harness
from tests.scenarios import table

RECEIVES = 20  # the template's maxReceiveCount
ran: list[str] = []
poison: list[Any] = []  # what takes the process down in the code between the steps


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


def undo(step: Undo[str]) -> None:
    ran.append(f"undo {step.path}")


@workflow
def saga(ctx: Context) -> str:
    ctx.step("first", note, rollback=undo)
    for drop in poison:
        drop()
    ctx.sleep("nap", 60)
    return ctx.step("second", note, rollback=undo, retry=Retry(0))


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    poison.clear()
    return [saga]


def throttled(durable: Harness, receives: int = RECEIVES) -> None:
    """The queue's messages are received so often, and no function is invoked: as when Lambda throttles."""
    for _ in range(receives):
        batch = durable.take()
        assert batch is not None
        batch.release()


def letters(durable: Harness) -> int:
    """Dead letters that were dealt with."""
    return sum(invocation.function == "DeadLetters" for invocation in durable.invocations)


@pytest.mark.rule("E6", "E3")
@pytest.mark.parametrize("times", [1, 3])
def test_a_healthy_execution_survives_throttling(durable: Harness, times: int) -> None:
    """H11: receives are no crashes."""
    execution = durable.start(saga)
    for _ in range(times):
        throttled(durable)
        durable.run(duration=0)  # the redrive, and the dead letter
        durable.clock.advance(60)
    assert (letters(durable), table.head(durable, execution.id).dead) == (times, times)

    durable.run()

    assert (execution.status, ran, durable.messages(None)) == ("completed", ["first", "second"], [])


@pytest.mark.rule("E6")
def test_progress_forgives_earlier_dead_letters(durable: Harness) -> None:
    execution = durable.start(saga)
    for _ in range(2):
        for _ in range(3):
            throttled(durable)
            durable.run(duration=0)
            durable.clock.advance(60)
        durable.deliver_once()  # a step further
    durable.run()

    assert (execution.status, letters(durable), ran) == ("completed", 6, ["first", "second"])


@pytest.mark.rule("E6", "R13")
def test_four_dead_letters_without_progress_fail_the_execution_and_roll_it_back(durable: Harness) -> None:
    execution = durable.start(saga)
    durable.deliver_once()
    for _ in range(4):
        throttled(durable)
        durable.run(duration=0)
        durable.clock.advance(60)
    durable.run()

    assert (execution.status, execution.error.type, ran) == ("failed", "DeadLettered", ["first", "undo first"])
    assert execution.rollback == RollbackOutcome("completed")


@pytest.mark.rule("E6", "R13", "R3")
def test_dead_letters_that_failed_an_execution_do_not_count_against_its_rollback(durable: Harness) -> None:
    execution = durable.start(saga)
    durable.deliver_once()

    def throttle(times: int) -> None:
        for _ in range(times):
            throttled(durable)
            durable.run(duration=0)
            durable.clock.advance(60)

    throttle(3)
    throttled(durable)  # the fourth fails it
    while execution.status != "failing" or not durable.messages():
        durable.deliver_once()
    throttle(3)
    durable.run()

    assert (execution.status, execution.error.type, ran) == ("failed", "DeadLettered", ["first", "undo first"])
    assert (letters(durable), execution.rollback) == (7, RollbackOutcome("completed"))


@pytest.mark.rule("E6", "Q4")
def test_a_dead_letter_of_one_that_merely_sleeps_counts_for_nothing(durable: Harness) -> None:
    """H11: holds and early timers burn receives too."""
    execution = durable.start(saga)
    durable.deliver_once()
    durable.deliver_once()
    durable.application.queue.send(continuation_of(table.head(durable, execution.id)))  # an early one
    throttled(durable)
    durable.run(duration=0)
    head = table.head(durable, execution.id)
    assert (letters(durable), head.dead, head.status, ran) == (1, 0, "waiting", ["first"])

    durable.run()

    assert (execution.status, ran, durable.messages(None)) == ("completed", ["first", "second"], [])
    assert (head.wake - head.created, table.head(durable, execution.id).claimed - head.wake) == (60_000, 0)


@pytest.mark.rule("E6", "E3")
def test_a_dead_letter_of_a_message_that_did_its_work_sends_what_its_owner_did_not(durable: Harness) -> None:
    """H9: the last receive commits and dies before it sends; the letter is the only cover left."""
    durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000)
    execution = durable.start(saga)
    throttled(durable, RECEIVES - 1)
    durable.faults.before(1, durable.faults.die, operation=durable.sending, by="Worker")
    durable.run()

    assert (execution.status, letters(durable), ran) == ("completed", 1, ["first", "second"])


@pytest.mark.rule("E6", "E3")
def test_a_dead_letter_whose_function_dies_before_it_sends_comes_again_and_sends(
    durable: Harness, no_sweeper: None
) -> None:
    """It has taken the place of the message that died: the old one can't come back, and this is known as its own."""
    execution = durable.start(saga)
    throttled(durable)
    durable.faults.before(1, durable.faults.die, operation=durable.sending, by="DeadLetters")
    durable.run()

    assert (execution.status, letters(durable), ran) == ("completed", 2, ["first", "second"])


@pytest.mark.rule("E6", "E4")
def test_a_dead_letter_that_meets_a_lease_waits_for_it(durable: Harness) -> None:
    """H10: the revision is the same, and yet somebody is at work."""
    execution = durable.start(saga)
    durable.duplicate(durable.messages()[0])
    copy = durable.take()
    assert copy is not None
    throttled(durable)

    def dead_letter_arrives() -> None:
        durable.faults.clear()
        while (invocation := durable.deliver_once()) is not None:
            answers.append((invocation.function, invocation.answer))
        statuses.append(execution.status)

    answers: list[Any] = []
    statuses: list[str] = []
    durable.faults.in_body(1, dead_letter_arrives)
    copy.deliver()

    failures = {"batchItemFailures": [{"itemIdentifier": copy.records[0]["messageId"]}]}
    assert (answers, statuses) == ([("DeadLetters", failures)], ["running"])
    durable.run()
    assert (execution.status, ran, durable.messages(None)) == ("completed", ["first", "second"], [])


@pytest.mark.rule("E6", "R13", "R3")
def test_an_execution_whose_code_kills_every_process_ends_and_is_rolled_back(durable: Harness) -> None:
    execution = durable.start(saga)

    def die_unless_rolling_back() -> None:
        if table.head(durable, execution.id).phase == "forward":
            durable.faults.die()

    poison.append(die_unless_rolling_back)
    durable.run()

    assert (execution.status, execution.error.type, ran) == ("failed", "DeadLettered", ["first", "undo first"])
    assert (execution.rollback, durable.messages(None)) == (RollbackOutcome("completed"), [])
    assert sum(invocation.died for invocation in durable.invocations) == 2 * RECEIVES


@pytest.mark.rule("R10", "R11", "R13")
def test_a_rollback_whose_replay_kills_every_process_ends_as_failed(durable: Harness) -> None:
    execution = durable.start(saga)
    durable.deliver_once()
    execution.cancel()
    poison.append(durable.faults.die)
    durable.run()

    assert (execution.status, str(execution.error)) == ("cancelled", "Cancelled: the execution was cancelled")
    assert (execution.rollback.outcome, execution.rollback.error.type) == ("failed", "DeadLettered")
    assert execution.rollback.not_run == ["first"]
    assert durable.messages(None) == []


@pytest.mark.rule("E6", "E10")
def test_a_dead_letter_that_cannot_be_read_is_rejected_with_the_reason(durable: Harness) -> None:
    record = {
        "messageId": "m-1",
        "receiptHandle": "r-1",
        "body": "nonsense",
        "eventSourceARN": durable.stack.queues["DeadLetterQueue"].arn,
    }
    answer = durable.invoke("DeadLetters", {"Records": [record]}).answer

    (rejected,) = durable.messages("RejectedQueue")
    assert (answer, rejected.body) == ({"batchItemFailures": []}, "nonsense")
    assert rejected.attributes["reason"]["StringValue"].startswith("not a continuation: ")
