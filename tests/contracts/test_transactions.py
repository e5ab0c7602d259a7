"""What holds of every store: writes that are one transaction with a head's, and the messages that wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from durable.api.messages import Sent
from durable.protocol import keys
from durable.protocol.head import Head, Status
from durable.protocol.updates import Blocked, Put, Refused, Update, Where
from durable.runtime.ports import Store
from durable.testing import Harness

HEAD = Head("order-1", Status.WAITING, "checkout", 1, created=1_000, inbox=3)
WRITTEN = replace(HEAD, inbox=4, due=5, due_shard="1")
SEND = Update("order-1", Where(inbox=3), {"due": 5, "due_shard": "1"}, {"inbox": 1})
PUTS = [Put("message#payments#0000000004", b"one", new=True), Put("sent#m-1#1000", b"two", new=True)]


@pytest.fixture(autouse=True)
def head(table: Store) -> Head:
    table.create(HEAD, None)
    return HEAD


def test_the_head_and_the_items_are_written_together(table: Store) -> None:
    assert table.together(SEND, PUTS) == WRITTEN
    assert table.read("order-1") == WRITTEN
    assert [table.find("order-1", put.key) for put in PUTS] == [b"one", b"two"]


def test_an_item_is_overwritten_or_deleted_where_it_need_not_be_new(table: Store) -> None:
    for key in ("db#a#1000", "db#b#1000"):
        table.keep("order-1", key, b"before")
    assert table.together(SEND, [Put("db#a#1000", b"after"), Put("db#b#1000", None), Put("db#c#1000", None)]) == WRITTEN
    assert [table.find("order-1", f"db#{name}#1000") for name in "abc"] == [b"after", None, None]


def test_a_refusal_of_the_head_returns_it_and_writes_nothing(table: Store) -> None:
    assert table.together(replace(SEND, where=Where(inbox=2)), PUTS) == Refused(HEAD)
    assert table.read("order-1") == HEAD
    assert [table.find("order-1", put.key) for put in PUTS] == [None, None]


def test_an_unknown_execution_is_refused_and_not_made(table: Store) -> None:
    assert table.together(replace(SEND, execution_id="order-9"), PUTS) == Refused(None)
    assert table.read("order-9") is None


@pytest.mark.rule("Q2")
def test_an_item_that_exists_blocks_all_of_it_and_is_named_by_its_place(table: Store) -> None:
    table.keep("order-1", PUTS[1].key, b"before")
    answer = table.together(SEND, PUTS)
    assert isinstance(answer, Blocked)
    assert answer.index == 1
    assert table.read("order-1") == HEAD
    assert [table.find("order-1", put.key) for put in PUTS] == [None, b"before"]


def test_a_head_that_refuses_goes_before_an_item_that_exists(table: Store) -> None:
    table.keep("order-1", PUTS[1].key, b"before")
    assert table.together(replace(SEND, where=Where(inbox=2)), PUTS) == Refused(HEAD)


# --- writes to the user's own tables ---------------------------------------------------------------------------------

ID = {"id": {"S": "a"}}
LIMIT = {":limit": {"N": "10"}}


def on_account(kind: str, condition: str = "", values: Mapping[str, Any] | None = None, **more: Any) -> Any:
    """An element of TransactItems on account a."""
    details: dict[str, Any] = {"TableName": "accounts", **more}
    if kind != "Put":
        details["Key"] = ID
    if condition:
        details["ConditionExpression"] = condition
    if values:
        details["ExpressionAttributeValues"] = dict(values)
    return {kind: details}


def account(amount: str | None = "5", **more: Any) -> dict[str, Any]:
    return {**ID, **({} if amount is None else {"amount": {"N": amount}}), **more}


def update(expression: str, values: Mapping[str, Any] | None = None, condition: str = "", **more: Any) -> Any:
    return on_account("Update", condition, values, UpdateExpression=expression, **more)


WRITES: list[tuple[str, Any, dict[str, Any] | None]] = [
    ("put", on_account("Put", Item=account("7")), account("7")),
    ("delete", on_account("Delete"), None),
    ("set", update("SET amount = :new", {":new": {"N": "9"}}), account("9")),
    ("set to a sum", update("SET amount = amount + :more", {":more": {"N": "3"}}), account("8")),
    ("set to a difference", update("SET amount = amount - :less", {":less": {"N": "0.50"}}), account("4.5")),
    ("set what is there", update("SET amount = if_not_exists(amount, :new)", {":new": {"N": "1"}}), account("5")),
    (
        "set what is not",
        update("SET extra = if_not_exists(extra, :new), amount = amount", {":new": {"S": "x"}}),
        account(extra={"S": "x"}),
    ),
    ("add", update("ADD amount :more", {":more": {"N": "2"}}), account("7")),
    ("add to nothing", update("ADD extra :more", {":more": {"N": "2"}}), account(extra={"N": "2"})),
    ("remove", update("REMOVE amount"), account(None)),
    (
        "all in one",
        update("SET #t = :t, b = :b REMOVE amount ADD c :c", {":t": {"S": "é"}, ":b": {"BOOL": True}, ":c": {"N": "1"}},
               ExpressionAttributeNames={"#t": "text"}),
        account(None, text={"S": "é"}, b={"BOOL": True}, c={"N": "1"}),
    ),
    ("check", on_account("ConditionCheck", "attribute_exists(id)"), account()),
]  # fmt: skip


@pytest.mark.rule("S10")
@pytest.mark.parametrize(("write", "after"), [case[1:] for case in WRITES], ids=[case[0] for case in WRITES])
def test_a_write_to_a_table_of_the_users_is_of_the_same_transaction(
    table: Store, durable: Harness, write: Any, after: dict[str, Any] | None
) -> None:
    durable.tables.create("accounts", "id")
    durable.tables.put("accounts", account())
    assert table.together(SEND, [], [write]) == WRITTEN
    assert durable.tables.get("accounts", ID) == after


HOLD: list[tuple[str, Mapping[str, Any]]] = [
    ("attribute_exists(id)", {}),
    ("attribute_not_exists(extra)", {}),
    ("amount < :limit", LIMIT),
    ("amount <= :limit AND amount >= :less", {**LIMIT, ":less": {"N": "5.0"}}),
    ("amount <> :limit", LIMIT),
    ("amount <> :text", {":text": {"S": "5"}}),
    ("NOT amount = :limit", LIMIT),
    ("extra <> :limit", LIMIT),
    ("attribute_not_exists(id) OR (amount > :less AND amount < :limit)", {**LIMIT, ":less": {"N": "-1"}}),
    ("amount BETWEEN :less AND :limit", {**LIMIT, ":less": {"N": "5"}}),
    ("amount IN (:less, :limit)", {**LIMIT, ":less": {"N": "5"}}),
    ("begins_with(holder, :some)", {":some": {"S": "ad"}}),
    ("contains(holder, :some)", {":some": {"S": "d"}}),
    (":limit > amount", LIMIT),
    ("holder = :holder", {":holder": {"S": "ada"}}),
]
DO_NOT: list[tuple[str, Mapping[str, Any]]] = [
    ("attribute_not_exists(id)", {}),
    ("attribute_exists(extra)", {}),
    ("amount > :limit", LIMIT),
    ("extra = :limit", LIMIT),
    ("NOT attribute_exists(id)", {}),
    ("amount BETWEEN :limit AND :more", {**LIMIT, ":more": {"N": "11"}}),
    ("amount IN (:limit)", LIMIT),
    ("begins_with(holder, :some)", {":some": {"S": "da"}}),
    ("attribute_exists(id) AND amount = :limit", LIMIT),
]


@pytest.mark.rule("S10")
@pytest.mark.parametrize("kind", ["Put", "Delete", "Update", "ConditionCheck"])
def test_conditions_on_an_item_of_the_users_are_judged_alike_by_every_store(
    table: Store, durable: Harness, kind: str
) -> None:
    durable.tables.create("accounts", "id")
    number = 3
    for expected, cases in ((True, HOLD), (False, DO_NOT)):
        for condition, values in cases:
            durable.tables.put("accounts", account(holder={"S": "ada"}))
            settings: dict[str, Any] = {"Put": {"Item": account("6")}, "Update": {"UpdateExpression": "REMOVE nothing"}}
            more = settings.get(kind, {})
            send = replace(SEND, where=Where(inbox=number))
            answer = table.together(send, [], [on_account(kind, condition, values, **more)])
            assert isinstance(answer, Head) is expected, condition
            assert isinstance(answer, Head) or (isinstance(answer, Blocked) and answer.index == 0), condition
            number += expected


@pytest.mark.rule("S10")
def test_a_condition_that_does_not_hold_blocks_all_and_is_named_by_its_place(table: Store, durable: Harness) -> None:
    durable.tables.create("accounts", "id")
    writes = [
        {"Put": {"TableName": "accounts", "Item": {"id": {"S": "b"}}}},
        on_account("Delete", "attribute_exists(id)"),
    ]
    answer = table.together(SEND, PUTS, writes)
    assert isinstance(answer, Blocked)
    assert answer.index == len(PUTS) + 1
    assert (table.read("order-1"), list(durable.tables.items("accounts"))) == (HEAD, [])


MALFORMED: list[tuple[str, list[Any], str]] = [
    ("empty", [{"Put": {}}], "Missing required parameter in TransactItems"),
    ("no types", [{"Put": {"TableName": "accounts", "Item": {"id": "a"}}}], "Invalid type for parameter TransactItems"),
    ("no table", [{"Put": {"TableName": "nowhere", "Item": account()}}], "Requested resource not found"),
    ("too large", [on_account("Put", Item=account(text={"S": "x" * 500_000}))], "size"),
    ("twice", [update("ADD amount :more", {":more": {"N": "2"}})] * 2, "one item"),
]


@pytest.mark.rule("S10")
@pytest.mark.parametrize(("writes", "why"), [case[1:] for case in MALFORMED], ids=[case[0] for case in MALFORMED])
def test_a_write_that_no_table_takes_blocks_all_and_says_why(
    table: Store, durable: Harness, writes: Sequence[Any], why: str
) -> None:
    durable.tables.create("accounts", "id")
    answer = table.together(SEND, [], writes)
    assert isinstance(answer, Blocked)
    assert why in answer.reason
    assert (table.read("order-1"), list(durable.tables.items("accounts"))) == (HEAD, [])


# --- messages that wait ----------------------------------------------------------------------------------------------


def put(table: Store, queue: str, number: int) -> Sent:
    sent = Sent(id=f"m-{number}", queue=queue, number=number, body=msgspec.Raw(b"1"), sent=number)
    table.keep("order-1", keys.message(queue, number), msgspec.json.encode(sent))
    return sent


def numbers(messages: Any) -> list[int]:
    return [message.number for message in messages]


@pytest.mark.rule("Q2")
def test_the_oldest_messages_of_the_queues_asked_for_are_those_that_wait(table: Store) -> None:
    for number in range(1, 13):
        put(table, ("payments", "pay", "payments#2", "%")[number % 4], number)
    assert numbers(table.waiting("order-1", {"pay": 0}, 10)) == [1, 5, 9]
    assert numbers(table.waiting("order-1", {"pay": 0}, 2)) == [1, 5]
    assert numbers(table.waiting("order-1", {"pay": 1, "payments": 4}, 10)) == [5, 9, 8, 12]
    assert numbers(table.waiting("order-1", {"payments#2": 0}, 1)) == [2]
    assert numbers(table.waiting("order-1", {"elsewhere": 0}, 1)) == []
    assert sorted(numbers(table.waiting("order-1", None, 1))) == list(range(1, 13))
    assert numbers(table.waiting("order-2", None, 10)) == []


def test_a_message_comes_back_as_it_was_stored(table: Store) -> None:
    sent = put(table, "payments", 7)
    (found,) = table.waiting("order-1", {"payments": 6}, 1)
    assert msgspec.structs.asdict(found) | {"body": bytes(found.body)} == msgspec.structs.asdict(sent) | {
        "body": bytes(sent.body)
    }


def test_the_tenth_message_comes_after_the_ninth(table: Store) -> None:
    for number in (10, 9, 100, 11):
        put(table, "payments", number)
    assert numbers(table.waiting("order-1", {"payments": 8}, 10)) == [9, 10, 11, 100]
