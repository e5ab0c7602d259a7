"""What the store asks of DynamoDB in transactions and batches. Its contract is in tests/contracts."""

from __future__ import annotations

import pytest

from durable.aws.clients import Clients
from durable.aws.dynamodb.store import DynamoStore
from durable.errors import StoreError
from durable.protocol.head import Head, Status
from durable.protocol.updates import Put, Update, Where
from tests.aws.wire import answered, calls_of, failure

HEAD = Head("order-1", Status.WAITING, "checkout", 1, created=1_000, inbox=3)
SEND = Update("order-1", Where(inbox=3), {"due": 5, "due_shard": "1"}, {"inbox": 1})
PUTS = [Put("message#payments#0000000004", b"one", new=True), Put("sent#m-1", b"two", new=True)]


@pytest.fixture(autouse=True)
def head(store: DynamoStore) -> Head:
    store.create(HEAD, None)
    return HEAD


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


# --- batches ----------------------------------------------------------------------------------------------------------


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
