"""The SQS event source: what Lambda sends, deletes, and leaves in the queue."""

from __future__ import annotations

from datetime import timedelta
from hashlib import md5
from typing import Any

import pytest

from durable.testing.harness import Harness

batches = pytest.mark.parametrize("shop", [{"BatchSize": 10}], indirect=True)


def bodies(event: Any) -> list[str]:
    return [record["body"] for record in event["Records"]]


def test_an_event_has_the_shape_that_lambda_sends(shop: Harness, behave: dict[str, Any]) -> None:
    events: list[Any] = []
    behave["Worker"] = lambda event, context: events.append(event)
    identity = shop.application.sqs.send_message(
        QueueUrl=shop.stack.queues["ContinuationQueue"].url,
        MessageBody="hello",
        MessageAttributes={
            "tenant": {"DataType": "String", "StringValue": "acme"},
            "token": {"DataType": "Binary", "BinaryValue": b"\x00\x01"},
        },
    )["MessageId"]

    shop.run()

    ((record,),) = [event["Records"] for event in events]
    assert isinstance(record.pop("receiptHandle"), str)
    assert isinstance(record.pop("md5OfMessageAttributes"), str)
    assert isinstance(record["attributes"].pop("SenderId"), str)
    now = str(shop.clock.now())
    assert record == {
        "messageId": identity,
        "body": "hello",
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": now,
            "ApproximateFirstReceiveTimestamp": now,
        },
        "messageAttributes": {
            "tenant": {"stringValue": "acme", "stringListValues": [], "binaryListValues": [], "dataType": "String"},
            "token": {"binaryValue": "AAE=", "stringListValues": [], "binaryListValues": [], "dataType": "Binary"},
        },
        "md5OfBody": md5(b"hello").hexdigest(),
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:durable-ContinuationQueue",
        "awsRegion": "us-east-1",
    }


def test_a_message_that_was_handled_is_deleted(shop: Harness) -> None:
    shop.application.start("a")

    shop.run()

    assert [invocation.function for invocation in shop.invocations] == ["Worker"]
    assert shop.messages() == []


@batches
def test_only_what_was_reported_comes_back_when_its_visibility_is_over(shop: Harness, behave: dict[str, Any]) -> None:
    delivered: list[tuple[int, list[str]]] = []
    start = shop.clock.now()

    def worker(event: Any, context: Any) -> Any:
        delivered.append(((shop.clock.now() - start) // 1000, bodies(event)))
        return {
            "batchItemFailures": [
                {"itemIdentifier": record["messageId"]}
                for record in event["Records"]
                if record["body"] == "b" and record["attributes"]["ApproximateReceiveCount"] == "1"
            ]
        }

    behave["Worker"] = worker
    for body in "abc":
        shop.application.start(body)

    shop.run()

    assert delivered == [(0, ["a", "b", "c"]), (45, ["b"])]


@pytest.mark.parametrize("answer", [None, {}, {"batchItemFailures": None}, {"batchItemFailures": []}, "done"])
@batches
def test_an_empty_answer_is_success(shop: Harness, behave: dict[str, Any], answer: Any) -> None:
    behave["Worker"] = lambda event, context: answer
    shop.application.start("a")

    shop.deliver_once()

    assert bool(shop.messages()) is (answer == "done")  # which is not an answer that Lambda understands


@pytest.mark.parametrize(
    "failure",
    [
        {"itemIdentifier": ""},
        {"itemIdentifier": None},
        {"itemIdentifier": "unknown"},
        {"itemIdentifier": ["list"]},
        {"wrongName": "x"},
        "text",
    ],
)
@batches
def test_an_answer_that_lambda_cannot_read_fails_the_whole_batch(
    shop: Harness, behave: dict[str, Any], failure: Any
) -> None:
    behave["Worker"] = lambda event, context: {"batchItemFailures": [failure]}
    shop.application.start("a")
    shop.application.start("b")

    shop.deliver_once()

    assert [message.body for message in shop.messages()] == ["a", "b"]


@batches
def test_an_exception_fails_the_whole_batch(shop: Harness, behave: dict[str, Any]) -> None:
    def worker(event: Any, context: Any) -> Any:
        raise ValueError("boom")

    behave["Worker"] = worker
    shop.application.start("a")
    shop.application.start("b")

    invocation = shop.deliver_once()

    assert invocation is not None
    assert str(invocation.error) == "boom"
    assert [message.body for message in shop.messages()] == ["a", "b"]


@batches
def test_an_answer_that_is_no_json_fails_the_whole_batch(shop: Harness, behave: dict[str, Any]) -> None:
    behave["Worker"] = lambda event, context: {"batchItemFailures": [], "more": object()}
    shop.application.start("a")

    invocation = shop.deliver_once()

    assert invocation is not None
    assert isinstance(invocation.error, TypeError)
    assert [message.body for message in shop.messages()] == ["a"]


@pytest.mark.parametrize("shop", [{"PartialFailures": "no"}], indirect=True)
def test_without_partial_failures_the_answer_says_nothing(shop: Harness, behave: dict[str, Any]) -> None:
    behave["Worker"] = lambda event, context: {
        "batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in event["Records"]]
    }
    shop.application.start("a")

    shop.run()

    assert shop.messages() == []


def test_a_message_received_too_often_goes_to_the_dead_letters(shop: Harness, behave: dict[str, Any]) -> None:
    dead: list[Any] = []
    behave["Worker"] = lambda event, context: 1 / 0
    behave["DeadLetters"] = lambda event, context: dead.extend(event["Records"])
    identity = shop.application.start("poison")
    start = shop.clock.moment

    shop.run()

    (record,) = dead
    assert (record["messageId"], record["body"]) == (identity, "poison")
    assert record["eventSourceARN"] == "arn:aws:sqs:us-east-1:123456789012:durable-DeadLetterQueue"
    assert record["attributes"]["DeadLetterQueueSourceArn"] == shop.stack.queues["ContinuationQueue"].arn
    assert [invocation.function for invocation in shop.invocations] == ["Worker"] * 3 + ["DeadLetters"]
    assert shop.clock.moment - start == timedelta(seconds=3 * 45)


def test_a_message_that_is_held_comes_back_then(shop: Harness, behave: dict[str, Any]) -> None:
    def worker(event: Any, context: Any) -> Any:
        (record,) = event["Records"]
        if record["attributes"]["ApproximateReceiveCount"] == "2":
            return None
        shop.application.sqs.change_message_visibility(
            QueueUrl=shop.stack.queues["ContinuationQueue"].url,
            ReceiptHandle=record["receiptHandle"],
            VisibilityTimeout=600,
        )
        return {"batchItemFailures": [{"itemIdentifier": record["messageId"]}]}

    behave["Worker"] = worker
    start = shop.clock.moment
    shop.application.start("a")

    shop.run()

    assert (len(shop.invocations), shop.clock.moment - start) == (2, timedelta(minutes=10))
