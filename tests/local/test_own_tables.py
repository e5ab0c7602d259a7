"""Expressions on the user's own tables: what is not evaluated here is told so, and never passes for something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from durable import Context, Step, workflow
from durable.errors import ConfigurationError
from durable.local.database import Database
from durable.local.store import SqliteStore
from durable.local.tables import OwnTables
from durable.protocol.head import Head, Status
from durable.protocol.updates import Blocked, Update, Where
from durable.testing import Harness

ID = {"id": {"S": "a"}}
HEAD = Head("order-1", Status.PENDING, "checkout", 1, created=1_000)
ANY = {":v": {"N": "1"}}


@pytest.fixture
def database() -> Iterator[Database]:
    made = Database()
    yield made
    made.close()


def written(database: Database, **details: Any) -> Any:
    """What becomes of an update with these expressions."""
    store = SqliteStore(database)
    store.create(HEAD, None)
    OwnTables(database).create("accounts", "id")
    OwnTables(database).put("accounts", {**ID, "amount": {"N": "1"}})
    update = {"TableName": "accounts", "Key": ID, "ExpressionAttributeValues": ANY, **details}
    return store.together(Update("order-1", Where()), [], [{"Update": update}])


@pytest.mark.rule("S10")
@pytest.mark.parametrize(
    ("details", "what"),
    [
        ({"UpdateExpression": "SET a.b = :v"}, "'.' in 'SET a.b = :v'"),
        ({"UpdateExpression": "SET a[0] = :v"}, r"'\[' in 'SET a\[0\] = :v'"),
        ({"UpdateExpression": "SET a = list_append(a, :v)"}, "the function list_append in"),
        ({"UpdateExpression": "DELETE a :v"}, "DELETE in 'DELETE a :v'"),
        ({"UpdateExpression": "SET a = :v", "ConditionExpression": "size(a) > :v"}, "the function size in"),
        ({"UpdateExpression": "SET a = :v", "ConditionExpression": "attribute_type(a, :v)"}, "attribute_type in"),
        ({"UpdateExpression": "SET a = :v", "ConditionExpression": "a LIKE :v"}, "'LIKE' in 'a LIKE :v'"),
    ],
)
def test_what_is_not_evaluated_here_blocks_the_write_and_says_what_to_do(
    database: Database, details: dict[str, Any], what: str
) -> None:
    answer = written(database, **details)
    assert isinstance(answer, Blocked)
    assert answer.index == 0
    assert answer.reason.endswith(
        "the local store evaluates a part of DynamoDB's expressions only. Use a Harness on moto for this."
    )
    with pytest.raises(AssertionError, match=what):
        raise AssertionError(answer.reason)


@pytest.mark.rule("S10")
@pytest.mark.parametrize(
    ("details", "why"),
    [
        ({"UpdateExpression": "PUT a = :v"}, "Invalid UpdateExpression: Syntax error; token: 'PUT'"),
        ({"UpdateExpression": "SET a = :w"}, "not defined; attribute value: :w"),
        ({"UpdateExpression": "SET #a = :v"}, "not defined in the document path|#a"),
        ({"UpdateExpression": "SET a = b"}, "refers to an attribute that does not exist in the item"),
        ({"UpdateExpression": "ADD id :v"}, "incorrect data type"),
        ({"UpdateExpression": "SET a = :v", "ConditionExpression": "amount = :v :v"}, "':v' was not expected"),
        ({"UpdateExpression": "SET a = :v", "ConditionExpression": "(amount = :v"}, r"'\)' was expected"),
    ],
)
def test_what_dynamodb_would_refuse_is_refused_too(database: Database, details: dict[str, Any], why: str) -> None:
    answer = written(database, **details)
    assert isinstance(answer, Blocked)
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(answer.reason)


def test_a_table_that_is_not_there_is_told_and_so_is_one_without_keys(database: Database) -> None:
    tables = OwnTables(database)
    with pytest.raises(ConfigurationError, match="there is no table 'accounts'"):
        tables.get("accounts", ID)
    with pytest.raises(ConfigurationError, match="'accounts' needs a partition key"):
        tables.create("accounts")
    tables.create("accounts", "id", "at")
    with pytest.raises(ConfigurationError, match="required keys was not given a value: at"):
        tables.put("accounts", ID)


def test_items_are_told_apart_by_both_keys(database: Database) -> None:
    tables = OwnTables(database)
    tables.create("accounts", "id", "at")
    items: list[dict[str, Any]] = [{**ID, "at": {"S": at}, "raw": {"B": b"\0"}} for at in "xy"]
    for item in items:
        tables.put("accounts", item)
    assert tables.get("accounts", {**ID, "at": {"S": "y"}}) == items[1]
    assert list(tables.items("accounts")) == items


@pytest.mark.rule("S10")
def test_a_step_whose_expression_is_not_evaluated_here_fails_with_that_reason() -> None:
    @workflow
    def order(ctx: Context) -> str:
        def write(step: Step) -> None:
            step.transact(
                {
                    "Update": {
                        "TableName": "accounts",
                        "Key": ID,
                        "UpdateExpression": "SET history = list_append(history, :v)",
                        "ExpressionAttributeValues": {":v": {"L": []}},
                    }
                }
            )

        return ctx.try_step("write", write).failure.error.message

    with Harness(workflows=[order], store="local") as durable:
        durable.tables.create("accounts", "id")
        execution = durable.start(order)
        durable.run()

        assert "the function list_append in 'SET history = list_append(history, :v)'" in execution.output
        assert "Use a Harness on moto for this." in execution.output
