"""What holds of every queue of continuations (durable.runtime.ports.Queue), and of the queues behind it."""

from __future__ import annotations

import json

import pytest

from durable.protocol.continuation import Continuation, name_of, read
from durable.runtime.ports import Queue
from durable.testing import Harness
from durable.testing.sources.queue import Batch
from tests.emulators import moto_only

CONTINUATION = Continuation(execution="order-1", revision=3, workflow="checkout", version=2, phase="rollback")
DAY = 86_400


def taken(durable: Harness, queue: str = "ContinuationQueue") -> Batch:
    batch = durable.take(queue)
    assert batch is not None
    return batch


def receipt(batch: Batch) -> str:
    """As the handler makes it: the queue's name, and the handle."""
    (record,) = batch.records
    return f"{record['eventSourceARN'].rpartition(':')[2]} {record['receiptHandle']}"


@pytest.mark.rule("E3")
def test_a_continuation_arrives_as_it_was_sent(queue: Queue, durable: Harness) -> None:
    queue.send(CONTINUATION)
    (body,) = taken(durable).bodies
    assert json.loads(body) == {
        "format": 1,
        "execution": "order-1",
        "revision": 3,
        "workflow": "checkout",
        "version": 2,
        "phase": "rollback",
    }
    assert read(body) == CONTINUATION


@pytest.mark.parametrize(("delay", "seconds"), [(0, 0), (-5, 0), (0.2, 1), (1, 1), (59.01, 60), (900, 900)])
def test_delays_are_whole_seconds_and_never_early(queue: Queue, durable: Harness, delay: float, seconds: int) -> None:
    queue.send(CONTINUATION, delay)
    (message,) = durable.messages()
    assert message.visible - durable.clock.now() == seconds * 1000
    durable.clock.advance(seconds - 1 if seconds else 0)
    assert (durable.take() is None) is bool(seconds)
    durable.clock.advance(1)
    assert len(durable.messages()) == 1


@pytest.mark.rule("E3")
def test_messages_that_wait_as_long_come_in_the_order_in_which_they_were_sent(queue: Queue, durable: Harness) -> None:
    for revision in range(5):
        queue.send(Continuation(execution="order-1", revision=revision, workflow="checkout", version=2))
    assert [read(taken(durable).bodies[0]).revision for _ in range(5)] == list(range(5))


# --- delivery --------------------------------------------------------------------------------------------------------


@pytest.mark.rule("E6")
def test_a_received_message_comes_back_when_its_visibility_is_over(queue: Queue, durable: Harness) -> None:
    queue.send(CONTINUATION)
    first = taken(durable)
    visibility = durable.stack.queues["ContinuationQueue"].visibility
    durable.clock.advance(visibility - 0.001)
    assert durable.take() is None
    durable.clock.advance(0.001)
    second = taken(durable)
    assert second.records[0]["messageId"] == first.records[0]["messageId"]
    assert [batch.records[0]["attributes"]["ApproximateReceiveCount"] for batch in (first, second)] == ["1", "2"]


@pytest.mark.rule("E6")
def test_a_held_message_stays_away_and_then_comes_back(queue: Queue, durable: Harness) -> None:
    queue.send(CONTINUATION)
    first = taken(durable)
    queue.hold(receipt(first), 17.5)
    durable.clock.advance(17.999)
    assert durable.take() is None
    durable.clock.advance(0.001)
    second = taken(durable)
    queue.hold(receipt(second), 0)
    assert taken(durable).records[0]["messageId"] == first.records[0]["messageId"]


def test_a_message_is_held_for_twelve_hours_at_most(queue: Queue, durable: Harness) -> None:
    queue.send(CONTINUATION)
    queue.hold(receipt(taken(durable)), 1e9)
    (message,) = durable.messages()
    assert message.visible - durable.clock.now() == 43_200_000


def test_a_message_that_is_gone_need_not_be_held(queue: Queue, durable: Harness) -> None:
    queue.send(CONTINUATION)
    batch = taken(durable)
    batch.lose()
    queue.hold(receipt(batch), 10)
    queue.hold("receipt-that-never-was", 10)
    assert durable.messages() == []


@moto_only  # MiniStack refuses the receipt of before
def test_a_message_is_deleted_by_a_receipt_of_before(queue: Queue, durable: Harness) -> None:
    queue.send(CONTINUATION)
    first = taken(durable)
    durable.clock.advance(durable.stack.queues["ContinuationQueue"].visibility)
    taken(durable)
    first.lose()
    assert durable.messages() == []


@pytest.mark.rule("E6", "R3")
def test_a_message_that_was_received_too_often_is_a_dead_letter_with_its_id(queue: Queue, durable: Harness) -> None:
    source = durable.stack.queues["ContinuationQueue"]
    queue.send(CONTINUATION)
    (sent,) = durable.messages()
    for _ in range(source.receives):
        taken(durable)
        durable.clock.advance(source.visibility)
    assert durable.take() is None
    (letter,) = durable.messages("DeadLetterQueue")
    assert (letter.id, letter.body, letter.origin) == (sent.id, sent.body, source.arn)
    record = taken(durable, "DeadLetterQueue").records[0]
    assert record["attributes"]["DeadLetterQueueSourceArn"] == source.arn


def test_a_dead_letter_is_held_in_the_queue_that_it_came_from(queue: Queue, durable: Harness) -> None:
    durable.put_message(CONTINUATION.encode(), "DeadLetterQueue")
    first = taken(durable, "DeadLetterQueue")
    queue.hold(receipt(first), 0)
    assert taken(durable, "DeadLetterQueue").records[0]["messageId"] == first.records[0]["messageId"]


# --- long waits ------------------------------------------------------------------------------------------------------


@pytest.mark.rule("Q4")
def test_a_long_wait_is_scheduled_and_delivered_two_minutes_early_at_most(queue: Queue, durable: Harness) -> None:
    queue.send(CONTINUATION, 400 * DAY)
    (schedule,) = durable.schedules
    assert (schedule.name, read(schedule.input), schedule.once) == (name_of(CONTINUATION), CONTINUATION, True)
    early = durable.clock.now() + 400 * DAY * 1000 - schedule.moment
    assert (durable.messages(), 0 <= early <= 121_000) == ([], True)


@pytest.mark.rule("E3")
def test_a_repeated_send_makes_no_second_schedule_and_another_revision_does(queue: Queue, durable: Harness) -> None:
    other = Continuation(execution="order-1", revision=4, workflow="checkout", version=2)
    for continuation in (CONTINUATION, CONTINUATION, other):
        queue.send(continuation, DAY)
    assert {schedule.name for schedule in durable.schedules} == {name_of(CONTINUATION), name_of(other)}


def test_what_was_scheduled_can_be_taken_back_once_and_again(queue: Queue, durable: Harness) -> None:
    queue.send(CONTINUATION, DAY)
    for _ in range(2):
        queue.forget(CONTINUATION)
    assert list(durable.schedules) == []


def test_what_the_queue_has_is_not_taken_back(queue: Queue, durable: Harness) -> None:
    queue.send(CONTINUATION)
    queue.forget(CONTINUATION)
    assert [read(body) for body in taken(durable).bodies] == [CONTINUATION]


# --- rejected messages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "reason", "stands"),
    [
        ("{no json", "not a continuation: …", ("{no json", "not a continuation: …")),
        ("", "", ("(empty)", "no reason was given")),
        ("a\td😀", "é", ("a\td😀", "é")),
    ],
)
def test_a_rejected_message_waits_for_a_person_with_the_reason(
    queue: Queue, durable: Harness, body: str, reason: str, stands: tuple[str, str]
) -> None:
    queue.reject(body, reason)
    (message,) = durable.messages("RejectedQueue")
    assert (message.body, message.attributes["reason"]["StringValue"]) == stands


def test_whatever_a_rejected_message_holds_it_can_be_kept(queue: Queue, durable: Harness) -> None:
    queue.reject("a\x00b\ud800c", "bell \x07" + "x" * 5_000)
    (message,) = durable.messages("RejectedQueue")
    assert (message.body[0], message.body[2], message.body[-1]) == ("a", "b", "c")
    assert message.attributes["reason"]["StringValue"].startswith("bell ")
