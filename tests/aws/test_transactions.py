"""Writes that are one transaction with a head's, and the messages that wait (durable.runtime.ports.Store)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from durable.api.messages import Sent
from durable.aws.clients import Clients
from durable.aws.dynamodb.store import DynamoStore
from durable.errors import StoreError
from durable.protocol import keys
from durable.protocol.head import Head, Status
from durable.protocol.updates import Blocked, Put, Refused, Update, Where
from tests.aws.wire import answered, calls_of, failure

HEAD = Head("order-1", Status.WAITING, "checkout", 1, created=1_000, inbox=3)
SEND = Update("order-1", Where(inbox=3), {"due": 5, "due_shard": "1"}, {"inbox": 1})
PUTS = [Put("message#payments#0000000004", b"one", new=True), Put("sent#m-1", b"two", new=True)]


@pytest.fixture(autouse=True)
def head(store: DynamoStore) -> Head:
    store.create(HEAD, None)
    return HEAD


def test_the_head_and_the_items_are_written_together(store: DynamoStore) -> None:
    written = replace(HEAD, inbox=4, due=5, due_shard="1")
    assert store.together(SEND, PUTS) == written
    assert store.read("order-1") == written
    assert [store.find("order-1", put.key) for put in PUTS] == [b"one", b"two"]


def test_a_refusal_of_the_head_returns_it_and_writes_nothing(store: DynamoStore) -> None:
    assert store.together(replace(SEND, where=Where(inbox=2)), PUTS) == Refused(HEAD)
    assert store.read("order-1") == HEAD
    assert [store.find("order-1", put.key) for put in PUTS] == [None, None]


def test_an_unknown_execution_is_refused_and_not_made(store: DynamoStore) -> None:
    assert store.together(replace(SEND, execution_id="order-9"), PUTS) == Refused(None)
    assert store.read("order-9") is None


@pytest.mark.rule("Q2")
def test_an_item_that_exists_blocks_all_of_it_and_is_named_by_its_place(store: DynamoStore) -> None:
    store.keep("order-1", "sent#m-1", b"before")
    answer = store.together(SEND, PUTS)
    assert isinstance(answer, Blocked)
    assert answer.index == 1
    assert store.read("order-1") == HEAD
    assert [store.find("order-1", put.key) for put in PUTS] == [None, b"before"]


def test_a_head_that_refuses_goes_before_an_item_that_exists(store: DynamoStore) -> None:
    store.keep("order-1", "sent#m-1", b"before")
    assert store.together(replace(SEND, where=Where(inbox=2)), PUTS) == Refused(HEAD)


@pytest.mark.rule("S10")
def test_a_write_to_another_item_is_of_the_same_transaction(store: DynamoStore, clients: Clients) -> None:
    key = {"pk": {"S": "account-1"}, "sk": {"S": "balance"}}
    booking: dict[str, Any] = {
        "Update": {
            "TableName": "durable-Table",
            "Key": key,
            "UpdateExpression": "ADD amount :more",
            "ConditionExpression": "attribute_not_exists(pk) OR amount < :limit",
            "ExpressionAttributeValues": {":more": {"N": "10"}, ":limit": {"N": "10"}},
        }
    }
    assert store.together(SEND, [], [booking]) == replace(HEAD, inbox=4, due=5, due_shard="1")
    blocked = store.together(replace(SEND, where=Where(inbox=4)), [], [booking])
    assert isinstance(blocked, Blocked)
    assert blocked.index == 0
    item = clients.dynamodb().get_item(TableName="durable-Table", Key=key)["Item"]
    assert item["amount"] == {"N": "10"}


@pytest.mark.rule("D9")
def test_a_transaction_that_another_one_cancelled_is_tried_again(
    store: DynamoStore, clients: Clients, pauses: list[float]
) -> None:
    reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}]
    conflict = failure("TransactionCanceledException", CancellationReasons=reasons)
    with answered(clients.dynamodb(), "TransactWriteItems", conflict):
        assert isinstance(store.together(SEND, PUTS), Head)
    assert len(pauses) == 1


@pytest.mark.rule("D9")
def test_a_transaction_that_fails_otherwise_is_a_store_error(store: DynamoStore, clients: Clients) -> None:
    reasons = [{"Code": "None"}, {"Code": "ValidationError", "Message": "too large"}]
    cancelled = failure("TransactionCanceledException", "see the reasons", CancellationReasons=reasons)
    with (
        answered(clients.dynamodb(), "TransactWriteItems", cancelled),
        pytest.raises(StoreError, match="could not update execution 'order-1' in a transaction: TransactionCanceled"),
    ):
        store.together(SEND, PUTS)


# --- messages that wait ----------------------------------------------------------------------------------------------


def put(store: DynamoStore, queue: str, number: int) -> Sent:
    sent = Sent(id=f"m-{number}", queue=queue, number=number, body=msgspec.Raw(b"1"), sent=number)
    store.keep("order-1", keys.message(queue, number), msgspec.json.encode(sent))
    return sent


def numbers(messages: Any) -> list[int]:
    return [message.number for message in messages]


@pytest.mark.rule("Q2")
def test_the_oldest_messages_of_the_queues_asked_for_are_those_that_wait(store: DynamoStore) -> None:
    for number in range(1, 13):
        put(store, ("payments", "pay", "payments#2", "%")[number % 4], number)
    assert numbers(store.waiting("order-1", {"pay": 0}, 10)) == [1, 5, 9]
    assert numbers(store.waiting("order-1", {"pay": 0}, 2)) == [1, 5]
    assert numbers(store.waiting("order-1", {"pay": 1, "payments": 4}, 10)) == [5, 9, 8, 12]
    assert numbers(store.waiting("order-1", {"payments#2": 0}, 1)) == [2]
    assert numbers(store.waiting("order-1", {"elsewhere": 0}, 1)) == []
    assert sorted(numbers(store.waiting("order-1", None, 1))) == list(range(1, 13))
    assert numbers(store.waiting("order-2", None, 10)) == []


def test_a_message_comes_back_as_it_was_stored(store: DynamoStore) -> None:
    sent = put(store, "payments", 7)
    (found,) = store.waiting("order-1", {"payments": 6}, 1)
    assert msgspec.structs.asdict(found) | {"body": bytes(found.body)} == msgspec.structs.asdict(sent) | {
        "body": bytes(sent.body)
    }


def test_the_tenth_message_comes_after_the_ninth(store: DynamoStore) -> None:
    for number in (10, 9, 100, 11):
        put(store, "payments", number)
    assert numbers(store.waiting("order-1", {"payments": 8}, 10)) == [9, 10, 11, 100]


def test_items_that_nothing_names_are_dropped_and_those_gone_are_no_fault(store: DynamoStore, clients: Clients) -> None:
    for number in range(30):
        store.keep("order-1", f"state#{number}", b"old")
    with calls_of(clients.dynamodb()) as calls:
        store.drop("order-1", [f"state#{number}" for number in range(31)])
    assert [name for name, _ in calls] == ["BatchWriteItem", "BatchWriteItem"]
    assert [store.find("order-1", f"state#{number}") for number in range(30)] == [None] * 30
    assert store.read("order-1") == HEAD


def test_nothing_to_drop_is_no_call(store: DynamoStore, clients: Clients) -> None:
    with calls_of(clients.dynamodb()) as calls:
        store.drop("order-1", [])
    assert calls == []
