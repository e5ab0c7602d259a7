"""Units by DynamoDB's published rules, and what the calls of a harness cost."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from durable.testing.aws.units import Index, Units, index_units, item_size, read_units, write_units
from durable.testing.harness import Harness


def binary(size: int) -> str:
    return base64.b64encode(b"x" * size).decode()


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "café"}, 5),
        ({"N": "0"}, 1),
        ({"N": "7"}, 2),
        ({"N": "-7"}, 3),
        ({"N": "1700000000000"}, 2),
        ({"N": "1893456000123"}, 8),
        ({"N": "0.05"}, 2),
        ({"B": binary(10)}, 10),
        ({"B": b"0123456789"}, 10),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["ab", "c"]}, 3),
        ({"NS": ["1", "22"]}, 4),
        ({"BS": [binary(3), binary(4)]}, 7),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"N": "1"}]}, 3 + 3 + 3),
        ({"M": {"ab": {"S": "c"}}}, 3 + 1 + 2 + 1),
    ],
)
def test_an_attributes_size_is_that_of_its_name_and_value(value: Any, size: int) -> None:
    assert item_size({"name": value}) == 4 + size


def test_an_item_that_is_not_there_has_no_size() -> None:
    assert item_size(None) == 0


@pytest.mark.parametrize(("size", "units"), [(0, 1), (4096, 1), (4097, 2)])
def test_reads_cost_a_unit_for_each_four_kilobytes(size: int, units: float) -> None:
    assert read_units(size, consistent=True) == units
    assert read_units(size, consistent=False) == units / 2


def test_a_write_costs_by_the_larger_of_before_and_after() -> None:
    small, large = {"pk": {"S": "a"}}, {"pk": {"S": "a"}, "tail": {"B": binary(2500)}}

    assert [
        write_units(None, small),
        write_units(small, large),
        write_units(large, small),
        write_units(small, None),
    ] == [
        1,
        3,
        3,
        1,
    ]


@pytest.mark.parametrize(
    ("old", "new", "units"),
    [
        (None, {"pk": {"S": "a"}}, 0),
        (None, {"pk": {"S": "a"}, "due": {"N": "1"}}, 1),
        ({"pk": {"S": "a"}, "due": {"N": "1"}}, {"pk": {"S": "a"}, "due": {"N": "1"}, "tail": {"S": "x"}}, 0),
        ({"pk": {"S": "a"}, "due": {"N": "1"}}, {"pk": {"S": "a"}, "due": {"N": "2"}}, 2),
        ({"pk": {"S": "a"}, "due": {"N": "1"}}, {"pk": {"S": "a"}}, 1),
    ],
)
def test_an_index_costs_only_when_its_keys_or_its_projection_change(old: Any, new: Any, units: float) -> None:
    assert index_units([Index(("due",), frozenset({"pk", "due"}))], old, new) == units


def test_an_index_with_everything_is_written_with_every_change() -> None:
    old = {"pk": {"S": "a"}, "due": {"N": "1"}}

    assert index_units([Index(("due",), None)], old, {**old, "tail": {"S": "x"}}) == 1


@pytest.fixture
def dynamodb(shop: Harness) -> Any:
    return shop.application.dynamodb


def head(name: str = "a", **attributes: Any) -> dict[str, Any]:
    return {"pk": {"S": name}, "sk": {"S": "head"}, **attributes}


def test_every_call_is_numbered_with_its_item_and_its_cost(shop: Harness, dynamodb: Any) -> None:
    dynamodb.put_item(
        TableName="durable-Table", Item=head(tail={"B": b"x" * 1500}, due_shard={"S": "0"}, due={"N": "1"})
    )
    dynamodb.get_item(TableName="durable-Table", Key=head(), ConsistentRead=True, ProjectionExpression="sk")
    dynamodb.update_item(
        TableName="durable-Table",
        Key=head(),
        UpdateExpression="SET due = :due REMOVE tail",
        ExpressionAttributeValues={":due": {"N": "2"}},
    )
    dynamodb.query(
        TableName="durable-Table", KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": "a"}}
    )

    assert [(call.number, call.operation, call.item, call.units) for call in shop.calls] == [
        (1, "PutItem", {"pk": "a", "sk": "head"}, Units(write=2, index=1)),
        (2, "GetItem", {"pk": "a", "sk": "head"}, Units(read=1)),
        (3, "UpdateItem", {"pk": "a", "sk": "head"}, Units(write=2, index=2)),
        (4, "Query", None, Units(read=0.5)),
    ]
    assert all(call.request_bytes > 50 and call.response_bytes > 0 and call.by == "client" for call in shop.calls)
    assert [call.item_bytes for call in shop.calls] == [1528, 1528, 24, 0]


def test_a_refused_condition_costs_what_the_item_costs(shop: Harness, dynamodb: Any) -> None:
    dynamodb.put_item(TableName="durable-Table", Item=head(tail={"B": b"x" * 2500}))
    for name in ("a", "missing"):
        with pytest.raises(dynamodb.exceptions.ConditionalCheckFailedException):
            dynamodb.update_item(
                TableName="durable-Table",
                Key=head(name),
                UpdateExpression="SET x = :one",
                ConditionExpression="x = :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )

    assert [(call.error, call.units) for call in shop.calls[1:]] == [
        ("ConditionalCheckFailedException", Units(write=3)),
        ("ConditionalCheckFailedException", Units(write=1)),
    ]


def test_a_transaction_costs_twice(shop: Harness, dynamodb: Any) -> None:
    dynamodb.put_item(TableName="durable-Table", Item=head(tail={"B": b"x" * 1500}))
    dynamodb.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": "durable-Table", "Item": head("b")}},
            {
                "ConditionCheck": {
                    "TableName": "durable-Table",
                    "Key": head(),
                    "ConditionExpression": "attribute_exists(pk)",
                }
            },
        ]
    )
    dynamodb.transact_get_items(TransactItems=[{"Get": {"TableName": "durable-Table", "Key": head()}}])

    assert [call.units for call in shop.calls[1:]] == [Units(write=2 * 1 + 2 * 2), Units(read=2 * 1)]


def test_a_transaction_whose_answer_is_lost_is_applied_once_and_its_repetition_only_reads(
    shop: Harness, dynamodb: Any
) -> None:
    shop.faults.after(1, shop.faults.lose_answer, by="client")
    dynamodb.transact_write_items(
        TransactItems=[
            {
                "Update": {
                    "TableName": "durable-Table",
                    "Key": head(),
                    "UpdateExpression": "ADD revision :one",
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                }
            }
        ]
    )

    (item,) = dynamodb.scan(TableName="durable-Table")["Items"]
    assert item["revision"] == {"N": "1"}
    assert [call.units for call in shop.calls[:2]] == [Units(write=2), Units(read=2)]
