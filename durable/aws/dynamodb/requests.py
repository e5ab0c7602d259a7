"""Requests to one table: put together by pynamodb, sent by one plain boto3 client.

pynamodb's own `Model.save`, `update` and `query` can't be used: they never ask for the refused item
(ReturnValuesOnConditionCheckFailure), without which every refusal would cost a read; they ask for consumed capacity
each time; and they bring a second client, which takes 50 ms to make.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pynamodb.connection.base import MetaTable
from pynamodb.connection.table import TableConnection

from durable.aws.dynamodb.table import HeadItem, value_item
from durable.aws.errors import past_conflicts
from durable.errors import StoreError
from durable.protocol.updates import Put

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from pynamodb.expressions.condition import Condition
    from pynamodb.expressions.update import Action

T = TypeVar("T")
Item = Mapping[str, Any]  # attributes as the client has them: {"pk": {"S": "order-1"}}
MadeRequest = dict[str, Any]

BATCH = 25  # writes that one BatchWriteItem takes
BUSY_ATTEMPTS = 8
BUSY_DELAY = 0.05  # seconds; doubles with each attempt


class Requests:
    """Sends requests to one table. botocore's errors pass; conflicts with transactions are tried again."""

    def __init__(
        self, table: str, client: Callable[[], DynamoDBClient], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.table = table
        self._client = client
        self._sleep = sleep
        self._made = TableConnection(table, meta_table=_keys_of(table))  # makes requests; has no client of its own

    def get(self, pk: str, sk: str) -> Item | None:
        """The item, strongly consistent."""
        request = self._made.get_operation_kwargs(pk, sk, consistent_read=True)
        return self._send(lambda client: client.get_item(**request)).get("Item")

    def put(self, item: Item, condition: Condition | None = None) -> None:
        """Writes an item; a refusal carries the item that stands."""
        request = self._put(item, condition)
        self._send(lambda client: client.put_item(**request))

    def put_both(self, item: Item, condition: Condition, other: Item) -> None:
        """Writes an item if the condition holds, and another one with it, or neither."""
        actions: Any = [{"Put": self._put(item, condition)}, {"Put": self._put(other, None)}]
        self._send(lambda client: client.transact_write_items(TransactItems=actions))

    def update(self, pk: str, sk: str, actions: Sequence[Action], condition: Condition) -> Item:
        """Changes an item: the item after it. A refusal carries the item that stands; neither costs a read unit."""
        request = self._made.get_operation_kwargs(
            pk,
            sk,
            actions=actions,
            condition=condition,
            return_values="ALL_NEW",
            return_values_on_condition_failure="ALL_OLD",
        )
        return self._send(lambda client: client.update_item(**request))["Attributes"]

    def together(
        self,
        key: tuple[str, str],
        actions: Sequence[Action],
        condition: Condition,
        puts: Sequence[Put],
        writes: Sequence[Mapping[str, object]],
    ) -> None:
        """One transaction: an update, puts, and writes to other tables as the client takes them."""
        update = self._made.get_operation_kwargs(
            *key, actions=actions, condition=condition, return_values_on_condition_failure="ALL_OLD"
        )
        transaction: Any = [{"Update": update}, *(self._along(key[0], put) for put in puts), *writes]
        self._send(lambda client: client.transact_write_items(TransactItems=transaction))

    def delete(self, pk: str, sk: str, condition: Condition) -> None:
        """Deletes an item if the condition holds."""
        request = self._made.get_operation_kwargs(pk, sk, condition=condition)
        self._send(lambda client: client.delete_item(**request))

    def delete_all(self, keys: Sequence[Item]) -> None:
        """Deletes the items of these keys."""
        for start in range(0, len(keys), BATCH):
            self._delete_batch([{"DeleteRequest": {"Key": key}} for key in keys[start : start + BATCH]])

    def query(self, condition: Condition, **settings: Any) -> Iterator[Item]:
        """All items whose key fits, page after page; `settings` are the client's."""
        names: dict[str, str] = {}
        values: dict[str, Any] = {}
        request: MadeRequest = {
            "TableName": self.table,
            "KeyConditionExpression": condition.serialize(names, values),
            "ExpressionAttributeNames": {placeholder: name for name, placeholder in names.items()},
            "ExpressionAttributeValues": values,
            **settings,
        }
        while True:
            page = self._send(_query(request))
            yield from page["Items"]
            if not (last := page.get("LastEvaluatedKey")):
                return
            request["ExclusiveStartKey"] = last

    def _send(self, call: Callable[[DynamoDBClient], T]) -> T:
        client = self._client()
        return past_conflicts(lambda: call(client), self._sleep)

    def _along(self, pk: str, put: Put) -> Item:
        """A put or a delete as an element of a transaction."""
        if put.value is None:
            return {"Delete": self._made.get_operation_kwargs(pk, put.key)}
        item = value_item(pk, put.key, put.value, put.expires)
        return {"Put": self._put(item, HeadItem.pk.does_not_exist() if put.new else None)}

    def _put(self, item: Item, condition: Condition | None) -> MadeRequest:
        return self._made.get_operation_kwargs(
            item["pk"]["S"],
            item["sk"]["S"],
            key="Item",
            attributes=item,
            condition=condition,
            return_values_on_condition_failure=None if condition is None else "ALL_OLD",
        )

    def _delete_batch(self, deletes: Sequence[Any]) -> None:
        """What is left unprocessed, because the table is busy, is tried again."""
        rest: Any = {self.table: deletes}
        for attempt in range(BUSY_ATTEMPTS):
            rest = self._send(_batch_write(rest)).get("UnprocessedItems")
            if not rest:
                return
            self._sleep(BUSY_DELAY * 2**attempt)
        raise StoreError("the table is too busy to delete items now: try again later")


def _query(request: MadeRequest) -> Callable[[DynamoDBClient], Any]:
    return lambda client: client.query(**request)


def _batch_write(requests: Any) -> Callable[[DynamoDBClient], Any]:
    return lambda client: client.batch_write_item(RequestItems=requests)


def _keys_of(table: str) -> MetaTable:
    """What pynamodb would ask DescribeTable for."""
    return MetaTable(
        {
            "TableName": table,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
        }
    )
