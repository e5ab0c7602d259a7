"""Write units as MiniStack counts them, beside those that durable.testing.aws.units computes from AWS's published rules."""

from __future__ import annotations

from typing import Any

import pytest

from durable.aws.clients import Clients
from durable.testing.aws.units import Item, index_units, indexes, item_size, write_units
from durable.testing.template.stack import Stack
from tests.emulators import ministack_only

pytestmark = ministack_only

KEY = {"pk": {"S": "order-1"}, "sk": {"S": "head"}}
COUNTERS: Item = {
    "revision": {"N": "1700000000123"},
    "fence": {"N": "0"},
    "skew": {"N": "-1250"},
    "part": {"N": "0.05"},
}
SIZES = (0, 200, 880, 1_000, 1_024, 2_000, 2_100, 60_000, 390_000)


def item(size: int, **attributes: Any) -> dict[str, Any]:
    return {**KEY, **COUNTERS, "tail": {"B": b"x" * size}, **attributes}


def counted(answer: Any) -> float:
    return float(answer["ConsumedCapacity"]["CapacityUnits"])


@pytest.fixture
def table(stack: Stack) -> str:
    return stack.tables["Table"].name


@pytest.mark.parametrize("size", SIZES)
def test_a_put_and_a_delete_cost_what_the_item_is_large(clients: Clients, table: str, size: int) -> None:
    put = clients.dynamodb().put_item(TableName=table, Item=item(size), ReturnConsumedCapacity="TOTAL")
    delete = clients.dynamodb().delete_item(TableName=table, Key=KEY, ReturnConsumedCapacity="TOTAL")

    assert counted(put) == write_units(None, item(size))
    assert counted(delete) == write_units(item(size), None)


@pytest.mark.parametrize("edge", [-1, 0, 1])
def test_a_unit_ends_at_a_kilobyte_to_the_byte(clients: Clients, table: str, edge: int) -> None:
    for kilobytes in (1, 2, 5):
        wanted = item(1024 * kilobytes + edge - item_size(item(0)))
        assert item_size(wanted) == 1024 * kilobytes + edge
        put = clients.dynamodb().put_item(TableName=table, Item=wanted, ReturnConsumedCapacity="TOTAL")
        clients.dynamodb().delete_item(TableName=table, Key=KEY)
        assert counted(put) == write_units(None, wanted) == kilobytes + (edge > 0)


@pytest.mark.parametrize(("before", "after"), [(0, 2_500), (2_500, 0), (2_500, 2_400), (200, 300)])
def test_an_update_costs_by_the_larger_of_before_and_after(
    clients: Clients, table: str, before: int, after: int
) -> None:
    clients.dynamodb().put_item(TableName=table, Item=item(before))
    update = clients.dynamodb().update_item(
        TableName=table,
        Key=KEY,
        UpdateExpression="SET tail = :tail",
        ExpressionAttributeValues={":tail": {"B": b"x" * after}},
        ReturnConsumedCapacity="TOTAL",
    )

    assert counted(update) == write_units(item(before), item(after))


@pytest.mark.parametrize("size", [200, 1_000, 3_000])
def test_a_transaction_costs_twice_as_much(clients: Clients, table: str, size: int) -> None:
    other = {**item(size), "sk": {"S": "history#000001#0"}}
    writes: Any = [{"Put": {"TableName": table, "Item": each}} for each in (item(size), other)]
    answer = clients.dynamodb().transact_write_items(TransactItems=writes, ReturnConsumedCapacity="TOTAL")

    (consumed,) = answer["ConsumedCapacity"]
    assert consumed["CapacityUnits"] == 2 * (write_units(None, item(size)) + write_units(None, other))


INDEXED = {
    "due": {"N": "1700000000123"},
    "due_shard": {"S": "3"},
    "list_key": {"S": "checkout#open#1"},
    "created": {"N": "1"},
}
CHANGES = {
    "a head that is in both indexes": (None, item(200, **INDEXED)),
    "a change that no index sees": (item(200, **INDEXED), item(300, **INDEXED)),
    "a key of one index": (item(200, **INDEXED), item(200, **{**INDEXED, "due": {"N": "1800000000123"}})),
    "a head that leaves one index": (item(200, **INDEXED), item(200, list_key={"S": "a"}, created={"N": "1"})),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_index_costs_only_when_its_entry_changes(clients: Clients, stack: Stack, change: str) -> None:
    before, after = CHANGES[change]
    table = stack.tables["Table"]
    if before is not None:
        clients.dynamodb().put_item(TableName=table.name, Item=before)
    answer = clients.dynamodb().put_item(TableName=table.name, Item=after, ReturnConsumedCapacity="INDEXES")

    consumed = answer["ConsumedCapacity"]
    found = sum(index["CapacityUnits"] for index in consumed.get("GlobalSecondaryIndexes", {}).values())
    assert consumed["Table"]["CapacityUnits"] == write_units(before, after)
    assert found == index_units(indexes(table.settings), before, after)
