"""Misfortune on purpose: deaths, lost answers, refusals, lost and repeated messages."""

from __future__ import annotations

from datetime import timedelta
from threading import Event, Thread
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from durable.errors import InvalidCall
from durable.testing.harness import Harness
from durable.testing.invocations import ProcessDied
from tests.testing.shop import wiring


def table(shop: Harness) -> str:
    return shop.stack.tables["Table"].name


def count_up(shop: Harness) -> None:
    """One UpdateItem that adds 1."""
    wiring.application().dynamodb.update_item(
        TableName=table(shop),
        Key={"pk": {"S": "counter"}, "sk": {"S": "head"}},
        UpdateExpression="ADD hits :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )


def hits(shop: Harness) -> int:
    item = shop.application.dynamodb.get_item(
        TableName=table(shop), Key={"pk": {"S": "counter"}, "sk": {"S": "head"}}, ConsistentRead=True
    ).get("Item")
    return int(item["hits"]["N"]) if item else 0


@pytest.fixture
def counting(shop: Harness, behave: dict[str, Any]) -> Harness:
    """The worker counts each message twice: two calls an invocation."""

    def worker(event: Any, context: Any) -> None:
        count_up(shop)
        count_up(shop)

    behave["Worker"] = worker
    shop.application.start("a")
    return shop


def test_a_process_that_dies_before_a_call_has_not_made_it(counting: Harness) -> None:
    counting.faults.before(2, counting.faults.die)
    start = counting.clock.moment

    counting.run()

    assert [(i.died, i.failed) for i in counting.invocations] == [(True, True), (False, False)]
    assert counting.clock.moment - start == timedelta(seconds=45)  # the message's visibility
    assert hits(counting) == 1 + 2


def test_a_process_that_dies_after_a_call_has_made_it(counting: Harness) -> None:
    counting.faults.after(2, counting.faults.die)

    counting.run()

    assert hits(counting) == 2 + 2


def test_a_dead_process_makes_no_further_call(shop: Harness, behave: dict[str, Any]) -> None:
    refused: list[type[BaseException]] = []

    def worker(event: Any, context: Any) -> str:
        for _ in range(3):
            try:
                count_up(shop)
            except BaseException as error:  # code that won't be stopped
                refused.append(type(error))
        return "done"

    behave["Worker"] = worker
    shop.application.start("a")
    shop.faults.before(1, shop.faults.die)

    shop.deliver_once()

    assert (refused, hits(shop), shop.invocations[0].failed) == ([ProcessDied] * 3, 0, True)


def test_a_death_takes_what_the_warm_process_kept(shop: Harness, behave: dict[str, Any]) -> None:
    kept: list[list[str]] = []

    def worker(event: Any, context: Any) -> None:
        application = wiring.application()
        application.seen.append(event["Records"][0]["body"])
        kept.append(list(application.seen))
        if application.seen == ["a", "b"]:
            shop.faults.die()

    behave["Worker"] = worker
    for body in "abc":
        shop.application.start(body)

    shop.run()

    assert kept == [["a"], ["a", "b"], ["c"], ["c", "b"]]


def test_a_cold_start_forgets_too(shop: Harness, behave: dict[str, Any]) -> None:
    kept: list[list[str]] = []

    def worker(event: Any, context: Any) -> None:
        wiring.application().seen.append(event["Records"][0]["body"])
        kept.append(list(wiring.application().seen))

    behave["Worker"] = worker
    shop.application.start("a")
    shop.run()
    shop.restart_processes()
    shop.application.start("b")
    shop.run()

    assert kept == [["a"], ["b"]]


def test_a_lost_answer_makes_botocore_repeat_what_was_applied(counting: Harness) -> None:
    counting.faults.after(1, counting.faults.lose_answer, operation="UpdateItem")

    counting.run()

    assert hits(counting) == 3
    assert [call.operation for call in counting.calls if call.by == "Worker"] == ["UpdateItem"] * 3


def test_a_refused_call_raises_what_aws_would(shop: Harness, behave: dict[str, Any]) -> None:
    codes: list[str] = []

    def worker(event: Any, context: Any) -> None:
        try:
            count_up(shop)
        except ClientError as error:
            codes.append(error.response["Error"]["Code"])

    behave["Worker"] = worker
    shop.application.start("a")
    shop.faults.before(1, shop.faults.refuse("TransactionConflictException"), operation="UpdateItem", by="Worker")

    shop.run()

    assert (codes, hits(shop)) == (["TransactionConflictException"], 0)
    assert [call.error for call in shop.calls if call.by == "Worker"] == ["TransactionConflictException"]


def test_a_swallowed_message_is_never_delivered(shop: Harness) -> None:
    shop.faults.before(1, shop.faults.swallow, operation="SendMessage", by="client")

    shop.application.start("a")
    shop.application.start("b")
    shop.run()

    assert [message.body for message in shop.sent] == ["b"]
    assert len(shop.invocations) == 1


def test_a_caller_outside_lambda_can_die_too(shop: Harness) -> None:
    shop.faults.before(1, shop.faults.die, by="client")

    with pytest.raises(ProcessDied):
        shop.application.start("a")

    assert shop.messages() == []


def test_a_function_is_stopped_at_its_deadline(shop: Harness, behave: dict[str, Any]) -> None:
    remaining: list[int] = []

    def worker(event: Any, context: Any) -> None:
        remaining.append(context.get_remaining_time_in_millis())
        if len(remaining) == 1:
            shop.clock.advance(31)
            count_up(shop)

    behave["Worker"] = worker
    shop.application.start("a")

    shop.run()

    assert (remaining, hits(shop)) == ([30_000, 30_000], 0)
    assert [invocation.died for invocation in shop.invocations] == [True, False]


def test_bodies_are_numbered_and_can_be_died_in(shop: Harness, behave: dict[str, Any]) -> None:
    seen: list[str] = []

    def worker(event: Any, context: Any) -> None:
        for path in ("reserve", "charge"):
            shop.faults.body(path)

    behave["Worker"] = worker
    shop.faults.on_body.append(seen.append)
    shop.faults.in_body(2, shop.faults.die)
    shop.application.start("a")

    shop.run()

    assert [invocation.died for invocation in shop.invocations] == [True, False]
    assert seen == shop.faults.bodies == ["reserve", "charge", "reserve", "charge"]


def test_any_callable_can_happen_at_a_call(counting: Harness) -> None:
    moments: list[int] = []
    counting.faults.before(2, lambda: moments.append(len(counting.calls)), by="Worker", times=2)

    counting.run()

    assert moments == [2]  # the send, the first count, and then


def test_a_fault_that_can_never_happen_is_refused(shop: Harness) -> None:
    with pytest.raises(InvalidCall, match="counts from 1"):
        shop.faults.before(0, shop.faults.die)


def test_a_message_is_delivered_twice_at_once(shop: Harness, behave: dict[str, Any]) -> None:
    trace: list[str] = []

    def worker(event: Any, context: Any) -> None:
        depth = len(trace)
        trace.append(f"in {depth} {len(wiring.application().seen)}")
        wiring.application().seen.append("x")
        if depth == 0:
            batch.invoke()
        trace.append(f"out {depth}")

    behave["Worker"] = worker
    shop.application.start("a")
    batch = shop.take()
    assert batch is not None

    batch.deliver()

    assert trace == ["in 0 0", "in 1 0", "out 1", "out 0"]  # two processes, neither sees what the other keeps
    assert shop.messages() == []


def test_messages_are_delivered_in_another_order(shop: Harness, behave: dict[str, Any]) -> None:
    order: list[str] = []
    behave["Worker"] = lambda event, context: order.append(event["Records"][0]["body"])
    shop.application.start("a")
    shop.application.start("b")
    first, second = shop.take(), shop.take()
    assert first is not None
    assert second is not None

    second.deliver()
    first.deliver()

    assert order == ["b", "a"]


def test_a_message_that_is_taken_and_lost_never_comes(shop: Harness) -> None:
    shop.application.start("a")
    batch = shop.take()
    assert batch is not None

    batch.lose()
    shop.run()

    assert shop.invocations == []


def test_a_message_that_is_taken_and_released_comes_again(shop: Harness, behave: dict[str, Any]) -> None:
    counts: list[str] = []
    behave["Worker"] = lambda event, context: counts.append(
        event["Records"][0]["attributes"]["ApproximateReceiveCount"]
    )
    shop.application.start("a")
    batch = shop.take()
    assert batch is not None

    batch.release()
    shop.run()

    assert counts == ["2"]


def test_a_delayed_message_can_come_early_and_again(shop: Harness, behave: dict[str, Any]) -> None:
    seen: list[tuple[int, str]] = []
    start = shop.clock.now()
    behave["Worker"] = lambda event, context: seen.append(
        ((shop.clock.now() - start) // 1000, event["Records"][0]["messageId"])
    )
    identity = shop.application.start("a", delay=600)

    shop.duplicate(shop.sent[-1])
    shop.run()

    assert seen == [(0, identity), (600, identity)]


def test_a_duplicate_is_held_and_deleted_like_any_message(shop: Harness, behave: dict[str, Any]) -> None:
    seen: list[tuple[int, str]] = []
    start = shop.clock.now()

    def worker(event: Any, context: Any) -> Any:
        (record,) = event["Records"]
        count = record["attributes"]["ApproximateReceiveCount"]
        seen.append(((shop.clock.now() - start) // 1000, count))
        if count == "2" or not record["receiptHandle"].startswith("copy-"):
            return None
        wiring.application().sqs.change_message_visibility(
            QueueUrl=shop.stack.queues["ContinuationQueue"].url,
            ReceiptHandle=record["receiptHandle"],
            VisibilityTimeout=20,
        )
        return {"batchItemFailures": [{"itemIdentifier": record["messageId"]}]}

    behave["Worker"] = worker
    shop.application.start("a")
    shop.duplicate(shop.sent[-1], delay=10)

    shop.run()

    assert seen == [(0, "1"), (10, "1"), (30, "2")]
    assert shop.messages() == []


def test_every_message_can_come_twice(shop: Harness, behave: dict[str, Any]) -> None:
    seen: list[str] = []
    behave["Worker"] = lambda event, context: seen.append(event["Records"][0]["body"])
    shop.duplicate_all()

    shop.application.start("a")
    shop.application.start("b")
    shop.run()

    assert sorted(seen) == ["a", "a", "b", "b"]


def test_calls_of_a_client_of_the_tests_own_go_by_as_well(shop: Harness) -> None:
    boto3.client("sqs").send_message(QueueUrl=shop.stack.queues["ContinuationQueue"].url, MessageBody="x")

    assert [(call.by, call.service, call.operation) for call in shop.calls] == [("client", "sqs", "SendMessage")]
    shop.run()
    assert len(shop.invocations) == 1


def test_a_thread_of_an_invocation_makes_its_calls_for_it(shop: Harness, behave: dict[str, Any]) -> None:
    def worker(event: Any, context: Any) -> None:
        application = wiring.application()
        thread = Thread(target=lambda: application.start("b", delay=60))
        thread.start()
        thread.join()

    behave["Worker"] = worker

    shop.invoke("Worker", {})

    assert [(call.by, call.invocation, call.operation) for call in shop.calls] == [("Worker", 1, "SendMessage")]


def test_a_thread_that_outlives_its_dead_process_makes_no_call(shop: Harness, behave: dict[str, Any]) -> None:
    dead, outcomes, threads = Event(), list[str](), list[Thread]()

    def worker(event: Any, context: Any) -> None:
        application = wiring.application()

        def late() -> None:
            application.start("before")
            started.set()
            dead.wait(10)
            try:
                application.start("after")
            except ProcessDied:
                outcomes.append("refused")

        started = Event()
        threads.append(Thread(target=late))
        threads[0].start()
        started.wait(10)
        shop.faults.die()

    behave["Worker"] = worker
    shop.invoke("Worker", {})
    dead.set()
    threads[0].join(10)

    assert outcomes == ["refused"]
    assert [message.body for message in shop.sent] == ["before"]
