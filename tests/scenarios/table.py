"""The table as it stands, read without a call: a look from outside, which no planned fault can meet."""

from __future__ import annotations

import base64
from typing import Any

import boto3

from durable.aws.dynamodb.table import head_of, segment_of
from durable.engine.entries import Entry, unpack
from durable.engine.history import History
from durable.protocol.head import Head
from durable.testing import Harness


def head(durable: Harness, execution_id: str) -> Head:
    """The head of an execution."""
    return head_of(_item(durable, execution_id, "head"))


def history(durable: Harness, execution_id: str) -> History:
    """What is recorded of an execution."""
    now = head(durable, execution_id)
    entries: list[Entry] = unpack(now.tail)
    key = now.segment
    while key:
        segment = segment_of(_item(durable, execution_id, key))
        entries = [*unpack(segment.entries), *entries]
        key = segment.previous
    return History(entries)


def items(durable: Harness, execution_id: str) -> dict[str, int]:
    """The items of an execution, and how many bytes they hold."""
    answer = boto3.client("dynamodb").query(
        TableName=durable.stack.tables["Table"].name,
        KeyConditionExpression="pk = :id",
        ExpressionAttributeValues={":id": {"S": execution_id}},
    )
    assert "LastEvaluatedKey" not in answer
    return {item["sk"]["S"]: sum(len(str(value)) for value in item.values()) for item in answer["Items"]}


def _item(durable: Harness, execution_id: str, key: str) -> dict[str, Any]:
    item = durable.emulator.item(durable.stack.tables["Table"].name, {"pk": {"S": execution_id}, "sk": {"S": key}})
    assert item is not None, f"there is no item {key} of execution {execution_id}"
    return {name: _bytes(value) for name, value in item.items()}


def _bytes(value: dict[str, Any]) -> dict[str, Any]:
    return {"B": base64.b64decode(value["B"])} if "B" in value else value
