"""What the store asks of DynamoDB, and what it makes of the answers. Its contract is in tests/contracts."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from msgspec.structs import replace

from durable.aws.clients import Clients
from durable.aws.dynamodb.store import DynamoStore
from durable.aws.dynamodb.table import head_item
from durable.aws.errors import CONFLICT_ATTEMPTS, ItemTooLarge
from durable.codec.formats import FORMAT, NewerFormat
from durable.errors import StoreError
from durable.protocol.head import Head, Status
from durable.protocol.updates import Put, Segment, Update, Where
from durable.testing.template.stack import Stack
from tests.aws.wire import answered, calls_of, failure

NEW = Head("order-1", Status.PENDING, "checkout", 2, created=1_000, digest="abc", list_key="checkout#open#1")
FULL = Head(
    execution_id="order-2",
    status=Status.WAITING,
    workflow="checkout",
    version=3,
    created=1_000,
    digest="abc",
    revision=4,
    fence=5,
    lease=6,
    message="message-1",
    nonce="nonce-1",
    claimed=7,
    claims=1,
    dead=2,
    wake=9_000,
    inbox=3,
    seen=3,
    due=9_000,
    due_shard="5",
    list_key="checkout#open#1",
    tail=b"\x00\xfftail",
    segment="history#000002#5",
    segments=2,
    state=b"t{}",
    state_at="state#1",
    resume_to="running",
    skip_rollback=1,
    ended=8,
    deadline=10_000,
)
FIRST = Segment("history#000001#0", "", b"\x00input")


def item_of(clients: Clients, stack: Stack, key: str = "head", execution_id: str = "order-1") -> dict[str, Any]:
    table = stack.tables["Table"].name
    answer = clients.dynamodb().get_item(TableName=table, Key={"pk": {"S": execution_id}, "sk": {"S": key}})
    return dict(answer.get("Item", {}))


def keys_of(clients: Clients, stack: Stack) -> list[str]:
    items = clients.dynamodb().scan(TableName=stack.tables["Table"].name)["Items"]
    return sorted(item["sk"]["S"] for item in items)


# --- create and read -------------------------------------------------------------------------------------------------


def test_counters_are_stored_when_they_are_zero_and_what_is_empty_is_not(
    store: DynamoStore, clients: Clients, stack: Stack
) -> None:
    store.create(NEW, None)
    zero = {"N": "0"}
    assert item_of(clients, stack) == {
        "pk": {"S": "order-1"},
        "sk": {"S": "head"},
        "status": {"S": "pending"},
        "workflow": {"S": "checkout"},
        "version": {"N": "2"},
        "created": {"N": "1000"},
        "format": {"N": "1"},
        "digest": {"S": "abc"},
        "list_key": {"S": "checkout#open#1"},
        **dict.fromkeys(["revision", "fence", "lease", "claimed", "claims", "dead", "inbox", "seen", "segments"], zero),
    }


# --- updates ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("E12")
def test_a_head_of_a_newer_format_is_neither_read_nor_changed(
    store: DynamoStore, clients: Clients, stack: Stack
) -> None:
    store.create(replace(NEW, format=FORMAT + 1), None)
    before = item_of(clients, stack)
    touched = [
        lambda: store.read("order-1"),
        lambda: store.update(Update("order-1", Where(), {"nonce": "mine"})),
        lambda: store.update(Update("order-1", Where(revision=9), {"nonce": "mine"})),
        lambda: store.together(Update("order-1", Where(), {"nonce": "mine"}), [Put("sent#m-1", b"1", new=True)]),
        lambda: store.create(NEW, None),
        lambda: store.create(NEW, FIRST),
    ]
    for touch in touched:
        with pytest.raises(NewerFormat, match="execution 'order-1' is of format 2"):
            touch()
    assert item_of(clients, stack) == before
    assert keys_of(clients, stack) == ["head"]


def test_an_update_writes_every_field_and_removes_what_is_emptied(
    store: DynamoStore, clients: Clients, stack: Stack
) -> None:
    store.create(FULL, None)
    emptied = {"wake": 0, "due": 0, "skip_rollback": 0, "ended": 0, "deadline": 0, "lease": 0}
    cleared = {"due_shard": "", "state": b"", "state_at": "", "resume_to": "", "tail": b"", "segment": ""}
    written = {"status": Status.RUNNING, "segments": 7, "message": "message-2"}
    everything: Any = {**emptied, **cleared, **written}
    answer = store.update(Update("order-2", Where(), everything, {"inbox": 2, "dead": -1}))
    assert answer == replace(FULL, **everything, inbox=5, dead=1)
    absent = (emptied.keys() | cleared.keys()) - {"lease"}
    assert not absent & item_of(clients, stack, execution_id="order-2").keys()


def test_an_update_is_one_call_with_no_read_and_no_question_about_capacity(
    store: DynamoStore, clients: Clients
) -> None:
    store.create(NEW, None)
    with calls_of(clients.dynamodb()) as calls:
        store.update(Update("order-1", Where(revision=9), {"nonce": "mine"}))
    (operation, parameters), *others = calls
    assert (operation, others) == ("UpdateItem", [])
    assert parameters["ReturnValues"] == "ALL_NEW"
    assert parameters["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"
    assert "ReturnConsumedCapacity" not in parameters


# --- segments and values ---------------------------------------------------------------------------------------------


def sealed(number: int, fence: int, previous: str) -> Segment:
    return Segment(f"history#{number:06}#{fence}", previous, f"{number}/{fence}".encode())


def test_a_history_without_segments_is_not_asked_for(store: DynamoStore, clients: Clients) -> None:
    with calls_of(clients.dynamodb()) as calls:
        assert store.segments(NEW, 0) == []
    assert calls == []


def test_segments_are_read_at_half_the_price(store: DynamoStore, clients: Clients) -> None:
    store.seal("order-1", FIRST)
    with calls_of(clients.dynamodb()) as calls:
        store.segments(replace(NEW, segment=FIRST.key, segments=1), 0)
    assert [(name, parameters["ConsistentRead"]) for name, parameters in calls] == [("Query", False)]


def test_a_segment_that_a_cheap_read_does_not_see_yet_is_read_consistently(
    store: DynamoStore, clients: Clients
) -> None:
    store.seal("order-1", FIRST)
    head = replace(NEW, segment=FIRST.key, segments=1)
    with (
        answered(clients.dynamodb(), "Query", {"Items": [], "ResponseMetadata": {}}),
        calls_of(clients.dynamodb()) as calls,
    ):
        assert store.segments(head, 0) == [FIRST]
    assert [parameters["ConsistentRead"] for _, parameters in calls] == [False, True]


def test_a_long_history_is_read_page_by_page(store: DynamoStore, clients: Clients) -> None:
    chain: list[Segment] = []
    for number in range(1, 13):
        segment = Segment(f"history#{number:06}#1", chain[-1].key if chain else "", bytes([number]) * 150_000)
        store.seal("order-1", segment)
        chain.append(segment)
    with calls_of(clients.dynamodb()) as calls:
        assert store.segments(replace(NEW, segment=chain[-1].key, segments=12), 0) == chain
    assert len(calls) > 1


def test_a_value_that_expires_says_when_in_seconds(store: DynamoStore, clients: Clients, stack: Stack) -> None:
    store.keep("order-1", "reply#m-1#1", b"one", expires=1_500)
    store.keep("order-1", "reply#m-2#1", b"two")
    items = clients.dynamodb().scan(TableName=stack.tables["Table"].name)["Items"]
    assert {item["sk"]["S"]: item.get("expires") for item in items} == {
        "reply#m-1#1": {"N": "2"},
        "reply#m-2#1": None,
    }


@pytest.mark.rule("E4")
def test_heads_values_and_messages_are_read_as_last_written(store: DynamoStore, clients: Clients) -> None:
    store.create(NEW, None)
    store.keep("order-1", "state#1", b"document")
    with calls_of(clients.dynamodb()) as calls:
        store.read("order-1")
        store.kept("order-1", "state#1")
        store.find("order-1", "state#1")
        store.waiting("order-1", {"payments": 0}, 10)
        store.waiting("order-1", None, 10)
    assert [(name, parameters["ConsistentRead"]) for name, parameters in calls] == [
        *[("GetItem", True)] * 3,
        *[("Query", True)] * 2,
    ]


# --- due, purge ------------------------------------------------------------------------------------------------------


def ended_with_items(store: DynamoStore, count: int) -> Head:
    head = replace(NEW, status=Status.COMPLETED, ended=500, purging=900, segment="history#000001#1")
    store.create(head, None)
    store.create(replace(NEW, execution_id="order-10"), None)
    for number in range(1, count + 1):
        store.seal("order-1", sealed(number, 1, ""))
    store.keep("order-1", "state#1", b"document")
    return head


@pytest.mark.rule("E9")
def test_purging_deletes_every_item_of_the_execution_and_no_other(
    store: DynamoStore, clients: Clients, stack: Stack
) -> None:
    head = ended_with_items(store, 60)
    with calls_of(clients.dynamodb()) as calls:
        store.purge(head)
    assert keys_of(clients, stack) == ["head"]
    assert store.read("order-10") is not None
    batches = [len(parameters["RequestItems"]["durable-Table"]) for _, parameters in calls[1:-1]]
    assert [name for name, _ in calls] == ["Query", *["BatchWriteItem"] * 3, "DeleteItem"]
    assert batches == [25, 25, 11]


def test_purging_tries_again_what_a_busy_table_did_not_delete(
    store: DynamoStore, clients: Clients, stack: Stack, pauses: list[float]
) -> None:
    head = ended_with_items(store, 2)
    key = {"pk": {"S": "order-1"}, "sk": {"S": "history#000002#1"}}
    left = {"UnprocessedItems": {"durable-Table": [{"DeleteRequest": {"Key": key}}]}, "ResponseMetadata": {}}
    with answered(clients.dynamodb(), "BatchWriteItem", left), calls_of(clients.dynamodb()) as calls:
        store.purge(head)
    again = [parameters["RequestItems"] for name, parameters in calls if name == "BatchWriteItem"][1]
    assert again == left["UnprocessedItems"]
    assert len(pauses) == 1


# --- faults ----------------------------------------------------------------------------------------------------------

CONFLICT = failure("TransactionConflictException", "Transaction is ongoing for the item")
CANCELLED = failure(
    "TransactionCanceledException", CancellationReasons=[{"Code": "TransactionConflict"}, {"Code": "None"}]
)


@pytest.mark.rule("D9")
def test_a_conflict_with_a_senders_transaction_is_tried_again(
    store: DynamoStore, clients: Clients, pauses: list[float]
) -> None:
    store.create(NEW, None)
    with answered(clients.dynamodb(), "UpdateItem", CONFLICT, CONFLICT):
        answer = store.update(Update("order-1", Where(), {"nonce": "mine"}))
    assert answer == replace(NEW, nonce="mine")
    assert len(pauses) == 2


@pytest.mark.rule("D9")
def test_a_transaction_that_was_cancelled_by_another_is_tried_again(store: DynamoStore, clients: Clients) -> None:
    with answered(clients.dynamodb(), "TransactWriteItems", CANCELLED):
        assert store.create(NEW, FIRST) is None
    assert store.read("order-1") == NEW


@pytest.mark.rule("E2")
def test_a_transaction_that_was_refused_is_not_tried_again_whatever_else_met_it(
    store: DynamoStore, clients: Clients, pauses: list[float]
) -> None:
    refused = {"Code": "ConditionalCheckFailed", "Item": head_item(NEW)}
    reasons = [refused, {"Code": "TransactionConflict"}]
    cancelled = failure("TransactionCanceledException", CancellationReasons=reasons)
    with answered(clients.dynamodb(), "TransactWriteItems", cancelled):
        assert store.create(NEW, FIRST) == NEW
    assert pauses == []


@pytest.mark.rule("D9")
def test_conflicts_without_end_are_a_store_error(store: DynamoStore, clients: Clients) -> None:
    with (
        answered(clients.dynamodb(), "UpdateItem", *[CONFLICT] * CONFLICT_ATTEMPTS),
        pytest.raises(StoreError, match="could not update execution 'order-1': TransactionConflictException"),
    ):
        store.update(Update("order-1", Where(), {"nonce": "mine"}))


@pytest.mark.rule("D9")
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (failure("AccessDeniedException", "not authorized"), r"AccessDeniedException: not authorized .*role"),
        (failure("ResourceNotFoundException", "no table"), r"ResourceNotFoundException: no table .*name right"),
        (EndpointConnectionError(endpoint_url="https://dynamodb"), r"Could not connect to the endpoint URL"),
    ],
)
def test_what_botocore_raises_leaves_as_a_store_error_that_says_what_failed(
    store: DynamoStore, clients: Clients, fault: Any, message: str
) -> None:
    with answered(clients.dynamodb(), "GetItem", fault), pytest.raises(StoreError, match=message) as raised:
        store.read("order-1")
    assert str(raised.value).startswith("could not read execution 'order-1': ")


def test_an_item_over_the_limit_is_told_apart(store: DynamoStore) -> None:
    with pytest.raises(ItemTooLarge, match=r"keep value 'state#1' of execution 'order-1'.* 400 KB"):
        store.keep("order-1", "state#1", bytes(410_000))
