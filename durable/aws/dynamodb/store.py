"""The store over one DynamoDB table.

Partition key: the execution; sort key: what the item holds (`durable.protocol.keys`). The head's attributes are the fields
of `Head`, a segment has its entries and the key of its predecessor, everything else is a value. Nothing scans, nothing
describes the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, ParamValidationError

from durable.api.messages import Sent, read_sent
from durable.aws.dynamodb.conditions import (
    both,
    changes,
    has_key,
    has_value,
    holds,
    in_status,
    is_due_by,
    is_new,
    is_purged_until,
    key_begins,
    key_between,
    was_born,
)
from durable.aws.dynamodb.requests import Item, Requests
from durable.aws.dynamodb.table import DUE_INDEX, SegmentItem, head_item, head_of, segment_of, value_item
from durable.aws.errors import boundary, code, refusal
from durable.errors import StoreError
from durable.protocol import keys
from durable.protocol.head import Head
from durable.protocol.keys import HEAD
from durable.protocol.updates import Blocked, Put, Refused, Segment, Update

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from pynamodb.expressions.condition import Condition

# Of foreign writes: the whole request is refused, or one of its actions.
_REFUSALS = frozenset(
    {"ValidationException", "ResourceNotFoundException", "ValidationError", "ItemCollectionSizeLimitExceeded"}
)


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

    def keep(self, execution_id: str, key: str, value: bytes, *, new: bool = False, expires: int = 0) -> bool:
        """Write a value into an item of its own; `new`: only if there is no such item. Whether it is the one that stands."""
        item = value_item(execution_id, key, value, expires)
        with boundary(f"keep value '{key}' of execution '{execution_id}'"):
            try:
                self._requests.put(item, is_new() if new else None)
            except ClientError as error:
                standing = _standing(error)
                return bool(standing["value"]["B"] == value)
        return True

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

    def together(
        self, update: Update, puts: Sequence[Put], writes: Sequence[Mapping[str, object]] = ()
    ) -> Head | Refused | Blocked:
        """One transaction: the update, items that must not exist yet, and writes to other tables; all of it or nothing."""
        execution_id = update.execution_id
        with boundary(f"update execution '{execution_id}' in a transaction"):
            try:
                self._requests.together((execution_id, HEAD), changes(update), holds(update.where), puts, writes)
            except ClientError as error:
                return _refused(error, len(puts), bool(writes))
            except ParamValidationError as error:
                if not writes:
                    raise
                return Blocked(None, str(error), invalid=True)
        head = self.read(execution_id)
        return Refused(None) if head is None else head

    def waiting(self, execution_id: str, after: Mapping[str, int] | None, limit: int) -> Sequence[Sent]:
        """The oldest messages of each of these queues, numbered above the given; None: of all queues, every one."""
        found: list[Sent] = []
        with boundary(f"read the messages of execution '{execution_id}'"):
            if after is None:
                found += self._messages(key_begins(execution_id, keys.messages()))
            else:
                for queue, number in after.items():
                    last = f"{keys.messages(queue)}{keys.LAST}"
                    between = key_between(execution_id, keys.message(queue, number + 1), last)
                    found += islice(self._messages(between, Limit=limit), limit)
        return found

    def find(self, execution_id: str, key: str) -> bytes | None:
        """The value of an item that may not be there."""
        with boundary(f"look for '{key}' of execution '{execution_id}'"):
            item = self._requests.get(execution_id, key)
        return None if item is None else item["value"]["B"]

    def drop(self, execution_id: str, keys: Sequence[str]) -> None:
        """Delete items of an execution that no head names; those that are gone already are no fault."""
        with boundary(f"delete items of execution '{execution_id}' that nothing names"):
            self._requests.delete_all([{"pk": {"S": execution_id}, "sk": {"S": key}} for key in keys])

    def due(self, shard: str, since: int, until: int, limit: int) -> Sequence[tuple[str, int]]:
        """Executions of a shard that are due from then to then, soonest first; the index may lag behind."""
        found: list[tuple[str, int]] = []
        with boundary(f"list what is due in shard {shard}"):
            for item in self._requests.query(is_due_by(shard, since, until), IndexName=DUE_INDEX, Limit=limit):
                found.append((item["pk"]["S"], int(item["due"]["N"])))
                if len(found) == limit:
                    break
        return found

    def purge(self, head: Head) -> None:
        """Delete every item of an execution, the head last and only if it is still as given.

        What belongs to a later execution of the same id stays; what an earlier one has left goes too.
        """
        execution_id = head.execution_id
        with boundary(f"purge execution '{execution_id}'"):
            every = self._requests.query(has_key(execution_id), ProjectionExpression="pk, sk", ConsistentRead=True)
            found = list(every)
            self._requests.delete_all([key for key in found if keys.goes_with(key["sk"]["S"], head.birth)])
            if any(keys.is_message(key["sk"]["S"]) for key in found):
                messages = list(self._requests.query(key_begins(execution_id, keys.messages()), ConsistentRead=True))
                standing = self._requests.get(execution_id, HEAD)  # after them: then they are of this life, or of none
                if standing is not None and head_of(standing).birth == head.birth:
                    for item in messages:
                        self._delete(execution_id, item["sk"]["S"], has_value(item["value"]["B"]))
            same = both(was_born(head.birth), in_status(frozenset({head.status})), is_purged_until(head.purging))
            self._delete(execution_id, HEAD, same)

    def _delete(self, execution_id: str, key: str, condition: Condition) -> None:
        """Delete an item if the condition holds; if it does not, it is another's, or gone."""
        try:
            self._requests.delete(execution_id, key, condition)
        except ClientError as error:
            _standing(error)

    def _messages(self, condition: Condition, **settings: Any) -> Iterator[Sent]:
        for item in self._requests.query(condition, ConsistentRead=True, **settings):
            yield read_sent(item["value"]["B"])

    def _sealed(self, head: Head, after: int, *, consistent: bool) -> Mapping[str, Segment]:
        """The segments above `after` by key; orphans of crashes too."""
        condition = key_between(head.execution_id, keys.segments_from(after + 1), head.segment)
        with boundary(f"read the history of execution '{head.execution_id}'"):
            items = self._requests.query(condition, ConsistentRead=consistent)
            return {segment.key: segment for segment in map(segment_of, items)}


def _chain(sealed: Mapping[str, Segment], last: str, after: int) -> list[Segment] | None:
    """The segments from `last` back to the one numbered `after`, oldest first; None if one is missing."""
    chain: list[Segment] = []
    key = last
    while key and keys.segment_number(key) > after:
        if (segment := sealed.get(key)) is None:
            return None
        chain.append(segment)
        key = segment.previous
    return chain[::-1]


def _segment_item(execution_id: str, segment: Segment) -> Item:
    item = SegmentItem(execution_id, segment.key, entries=segment.entries, previous=segment.previous or None)
    return item.serialize()


def _refused(error: ClientError, puts: int, foreign: bool) -> Refused | Blocked:
    """Which condition of a transaction did not hold, or what no table takes of the foreign writes; else it is raised again."""
    reasons = error.response.get("CancellationReasons")
    failed = [at for at, reason in enumerate(reasons or ()) if reason.get("Code") == "ConditionalCheckFailed"]
    if reasons is None or not failed:
        return _unacceptable(error, puts, foreign)
    if failed[0] == 0:
        standing = reasons[0].get("Item")
        return Refused(head_of(standing) if standing else None)
    return Blocked(failed[0] - 1, reasons[failed[0]].get("Message", "a condition did not hold"))


def _unacceptable(error: ClientError, puts: int, foreign: bool) -> Blocked:
    """The user's write that DynamoDB can't carry out: malformed, too large, to a table that is not there."""
    for at, reason in enumerate(error.response.get("CancellationReasons") or ()):
        if at > puts and reason.get("Code") in _REFUSALS:
            return Blocked(at - 1, reason.get("Message", "it is not valid"), invalid=True)
    if foreign and code(error) in _REFUSALS:
        return Blocked(None, error.response.get("Error", {}).get("Message", "it is not valid"), invalid=True)
    raise error


def _standing(error: ClientError) -> Item:
    """The item that stands in the way of a refused write, empty if there is none; any other error is raised again."""
    item = refusal(error)
    if item is None:
        raise error
    return item
