"""The store over one DynamoDB table. Partition key: the execution; sort key: what the item holds.

    head                      the head: its attributes are the fields of `Head`
    history#000001#<fence>    a sealed segment: entries, and the key of its predecessor
    anything else             a value that a head names

Nothing scans, nothing describes the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from durable.aws.conditions import both, changes, has_key, holds, in_status, is_due_at, is_due_by, is_new, key_between
from durable.aws.faults import boundary, refusal
from durable.aws.requests import Item, Requests
from durable.aws.table import DUE_INDEX, HEAD, SegmentItem, ValueItem, head_item, head_of, segment_of
from durable.errors import StoreError
from durable.runtime.head import Head
from durable.runtime.ports import Refused, Segment, Update

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoStore:
    """Implements `durable.runtime.ports.Store`. `client` is called when the table is first needed."""

    def __init__(
        self, table: str, client: Callable[[], DynamoDBClient], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._requests = Requests(table, client, sleep)

    def create(self, head: Head, segment: Segment | None) -> Head | None:
        """Write a new execution and its first segment, if any, both or neither. Returns the one that exists, if any."""
        with boundary(f"start execution '{head.execution_id}'"):
            try:
                if segment is None:
                    self._requests.put(head_item(head), is_new())
                else:
                    self._requests.put_both(head_item(head), is_new(), _segment_item(head.execution_id, segment))
            except ClientError as error:
                return head_of(_standing(error))
        return None

    def read(self, execution_id: str) -> Head | None:
        """The head as last written."""
        with boundary(f"read execution '{execution_id}'"):
            item = self._requests.get(execution_id, HEAD)
        return None if item is None else head_of(item)

    def update(self, update: Update) -> Head | Refused:
        """Write if the conditions hold: the head after it, or the refusal. Later reads return what it accepted."""
        with boundary(f"update execution '{update.execution_id}'"):
            try:
                item = self._requests.update(update.execution_id, HEAD, changes(update), holds(update.where))
            except ClientError as error:
                standing = _standing(error)
                return Refused(head_of(standing) if standing else None)
        return head_of(item)

    def seal(self, execution_id: str, segment: Segment) -> None:
        """Write a segment. It counts only once a head names it."""
        with boundary(f"seal segment '{segment.key}' of execution '{execution_id}'"):
            self._requests.put(_segment_item(execution_id, segment))

    def segments(self, head: Head, after: int) -> Sequence[Segment]:
        """The segments that the head's chain reaches, numbered above `after`, oldest first."""
        if not head.segment or head.segments <= after:
            return []
        for consistent in (False, True):  # half the price may be too early for what was sealed a moment ago
            chain = _chain(self._sealed(head, after, consistent=consistent), head.segment, after)
            if chain is not None:
                return chain
        raise StoreError(
            f"the history of execution '{head.execution_id}' lacks a segment of the chain that ends in "
            f"'{head.segment}': something else deleted it. Restore the table, or terminate the execution."
        )

    def keep(self, execution_id: str, key: str, value: bytes) -> None:
        """Write a value into an item of its own. It counts only once a head names it."""
        with boundary(f"keep value '{key}' of execution '{execution_id}'"):
            self._requests.put(ValueItem(execution_id, key, value=value).serialize())

    def kept(self, execution_id: str, key: str) -> bytes:
        """The value of such an item, as last written."""
        with boundary(f"read value '{key}' of execution '{execution_id}'"):
            item = self._requests.get(execution_id, key)
        if item is None:
            raise StoreError(
                f"execution '{execution_id}' has no value '{key}', which its head names: something else deleted it. "
                "Restore the table, or terminate the execution."
            )
        value: bytes = item["value"]["B"]
        return value

    def drop(self, execution_id: str, keys: Sequence[str]) -> None:
        """Delete items of an execution that no head names; those that are gone already are no fault."""
        with boundary(f"delete items of execution '{execution_id}' that nothing names"):
            self._requests.delete_all([{"pk": {"S": execution_id}, "sk": {"S": key}} for key in keys])

    def due(self, shard: str, until: int, limit: int) -> Sequence[tuple[str, int]]:
        """Executions of a shard that are due, soonest first, with their due time; the index may lag behind."""
        found: list[tuple[str, int]] = []
        with boundary(f"list what is due in shard {shard}"):
            for item in self._requests.query(is_due_by(shard, until), IndexName=DUE_INDEX, Limit=limit):
                found.append((item["pk"]["S"], int(item["due"]["N"])))
                if len(found) == limit:
                    break
        return found

    def purge(self, head: Head) -> None:
        """Delete every item of an execution, the head last and only if it is still as given."""
        with boundary(f"purge execution '{head.execution_id}'"):
            keys = self._requests.query(has_key(head.execution_id), ProjectionExpression="pk, sk", ConsistentRead=True)
            self._requests.delete_all([key for key in keys if key["sk"]["S"] != HEAD])
            try:
                self._requests.delete(
                    head.execution_id, HEAD, both(in_status(frozenset({head.status})), is_due_at(head.due))
                )
            except ClientError as error:
                _standing(error)  # refused: purged by another sweeper, or opened again

    def _sealed(self, head: Head, after: int, *, consistent: bool) -> Mapping[str, Segment]:
        """The segments above `after` by key; orphans of crashes too."""
        condition = key_between(head.execution_id, f"history#{after + 1:06}#", head.segment)
        with boundary(f"read the history of execution '{head.execution_id}'"):
            items = self._requests.query(condition, ConsistentRead=consistent)
            return {segment.key: segment for segment in map(segment_of, items)}


def _chain(sealed: Mapping[str, Segment], last: str, after: int) -> list[Segment] | None:
    """The segments from `last` back to the one numbered `after`, oldest first; None if one is missing."""
    chain: list[Segment] = []
    key = last
    while key and _number(key) > after:
        if (segment := sealed.get(key)) is None:
            return None
        chain.append(segment)
        key = segment.previous
    return chain[::-1]


def _number(key: str) -> int:
    return int(key.split("#")[1])


def _segment_item(execution_id: str, segment: Segment) -> Item:
    item = SegmentItem(execution_id, segment.key, entries=segment.entries, previous=segment.previous or None)
    return item.serialize()


def _standing(error: ClientError) -> Item:
    """The item that stands in the way of a refused write, empty if there is none; any other error is raised again."""
    item = refusal(error)
    if item is None:
        raise error
    return item
