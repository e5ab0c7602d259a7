"""What the queue asks of SQS, and what it makes of the answers. Its contract is in tests/contracts."""

from __future__ import annotations

from typing import Any

import pytest

from durable.aws.clients import Clients
from durable.aws.sqs import MAX_BYTES, SqsQueue
from durable.errors import StoreError
from durable.protocol.continuation import Continuation
from durable.testing.template.stack import Stack
from tests.aws.wire import answered, calls_of, failure

CONTINUATION = Continuation(execution="order-1", revision=3, workflow="checkout", version=2, phase="rollback")


def received(clients: Clients, stack: Stack, queue: str = "ContinuationQueue") -> list[Any]:
    answer = clients.sqs().receive_message(
        QueueUrl=stack.queues[queue].url, MessageAttributeNames=["All"], MaxNumberOfMessages=10, WaitTimeSeconds=0
    )
    return list(answer.get("Messages", []))


@pytest.mark.parametrize(
    ("delay", "seconds"), [(0, 0), (-5, 0), (0.2, 1), (1, 1), (59.01, 60), (900, 900), (86_400, 900)]
)
def test_delays_are_whole_seconds_never_early_and_at_most_fifteen_minutes(
    queue: SqsQueue, clients: Clients, delay: float, seconds: int
) -> None:
    with calls_of(clients.sqs()) as calls:
        queue.send(CONTINUATION, delay)
    assert [parameters["DelaySeconds"] for _, parameters in calls] == [seconds]


@pytest.mark.rule("E6")
def test_a_held_message_stays_away_and_then_comes_back(queue: SqsQueue, clients: Clients, stack: Stack) -> None:
    queue.send(CONTINUATION)
    (message,) = received(clients, stack)
    with calls_of(clients.sqs()) as calls:
        queue.hold(message["ReceiptHandle"], 17.5)
    assert [(name, parameters["VisibilityTimeout"]) for name, parameters in calls] == [("ChangeMessageVisibility", 18)]
    queue.hold(message["ReceiptHandle"], 0)
    assert [again["MessageId"] for again in received(clients, stack)] == [message["MessageId"]]


def test_a_message_is_held_for_twelve_hours_at_most(queue: SqsQueue, clients: Clients, stack: Stack) -> None:
    queue.send(CONTINUATION)
    (message,) = received(clients, stack)
    with calls_of(clients.sqs()) as calls:
        queue.hold(message["ReceiptHandle"], 1e9)
    assert [parameters["VisibilityTimeout"] for _, parameters in calls] == [43_200]


@pytest.mark.parametrize("code", ["ReceiptHandleIsInvalid", "AWS.SimpleQueueService.MessageNotInflight"])
def test_a_message_that_is_gone_need_not_be_held(queue: SqsQueue, clients: Clients, code: str) -> None:
    with answered(clients.sqs(), "ChangeMessageVisibility", failure(code)):
        queue.hold("receipt", 10)
    queue.hold("receipt-that-never-was", 10)


def test_a_message_that_can_not_be_held_for_another_reason_is_a_store_error(queue: SqsQueue, clients: Clients) -> None:
    with (
        answered(clients.sqs(), "ChangeMessageVisibility", failure("AccessDenied", "no")),
        pytest.raises(StoreError, match="could not hold a message: AccessDenied: no"),
    ):
        queue.hold("receipt", 10)


def test_a_queue_out_of_reach_is_a_store_error(queue: SqsQueue, clients: Clients) -> None:
    with (
        answered(clients.sqs(), "SendMessage", failure("AWS.SimpleQueueService.NonExistentQueue", "which?")),
        pytest.raises(
            StoreError, match=r"continuation of execution 'order-1': NonExistentQueue: which\? Is the queue's"
        ),
    ):
        queue.send(CONTINUATION)


# --- rejected messages -----------------------------------------------------------------------------------------------


def rejected(queue: SqsQueue, clients: Clients, stack: Stack, body: str, reason: str) -> tuple[str, str]:
    queue.reject(body, reason)
    (message,) = received(clients, stack, "RejectedQueue")
    return message["Body"], message["MessageAttributes"]["reason"]["StringValue"]


def test_characters_that_sqs_refuses_are_replaced(queue: SqsQueue, clients: Clients, stack: Stack) -> None:
    body, reason = rejected(queue, clients, stack, "a\x00b\ud800c\ufffe\td😀", "bell \x07")
    assert (body, reason) == ("a\ufffdb\ufffdc\ufffd\td😀", "bell \ufffd")


def test_what_is_too_large_with_its_reason_is_cut(queue: SqsQueue, clients: Clients, stack: Stack) -> None:
    body, reason = rejected(queue, clients, stack, "€" * (MAX_BYTES // 3), "x" * 5_000)
    assert len(reason) == 1_000
    assert MAX_BYTES - 1_300 < len(body.encode()) < MAX_BYTES - 1_000
    assert set(body) == {"€"}
