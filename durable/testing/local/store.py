"""The local store, whose calls are recorded as the calls of DynamoDB that they stand for."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

from durable.api.messages import Sent
from durable.local.store import SqliteStore
from durable.protocol import keys
from durable.protocol.head import Head
from durable.protocol.updates import Blocked, Put, Refused, Segment, Update
from durable.testing.local.attempts import Attempts, PortCall

T = TypeVar("T")

BATCH = 25  # items that one BatchWriteItem takes


class _Stood(Struct, frozen=True):
    """A value was to be new, and one was there before: whether it is the same."""

    same: bool


_CREATE = frozenset({Head})  # what the port returns when AWS would answer with an error
_WRITE = frozenset({Refused, Blocked})
_ERRORS: Mapping[str, str] = {
    "PutItem": "ConditionalCheckFailedException",
    "UpdateItem": "ConditionalCheckFailedException",
    "TransactWriteItems": "TransactionCanceledException",
}


@dataclass(frozen=True, slots=True)
class RecordedStore:
    """Implements `durable.runtime.ports.Store`."""

    store: SqliteStore
    attempts: Attempts
    table: str  # name

    def create(self, head: Head, segment: Segment | None) -> Head | None:
        """Write a new execution and its first segment, if any, both or neither. Returns the one that exists, if any."""
        execution_id, doing = head.execution_id, f"start execution '{head.execution_id}'"
        if segment is None:
            return self._on("PutItem", execution_id, "head", doing, lambda: self.store.create(head, None), b"", _CREATE)
        return self._transaction(doing, lambda: self.store.create(head, segment), _CREATE)

    def read(self, execution_id: str) -> Head | None:
        """Return the head as last written."""
        doing = f"read execution '{execution_id}'"
        return self._on("GetItem", execution_id, "head", doing, lambda: self.store.read(execution_id))

    def update(self, update: Update) -> Head | Refused:
        """Write if the conditions hold: the head after it, or the refusal. Later reads return what it accepted."""
        doing = f"update execution '{update.execution_id}'"
        return self._on(
            "UpdateItem", update.execution_id, "head", doing, lambda: self.store.update(update), None, _WRITE
        )

    def seal(self, execution_id: str, segment: Segment) -> None:
        """Write a segment. It counts only once a head names it."""
        doing = f"seal segment '{segment.key}' of execution '{execution_id}'"
        self._on(
            "PutItem", execution_id, segment.key, doing, lambda: self.store.seal(execution_id, segment), segment.entries
        )

    def segments(self, head: Head, after: int) -> Sequence[Segment]:
        """Return the segments that the head's chain reaches, numbered above `after`, oldest first."""
        if not head.segment or head.segments <= after:
            return []
        doing = f"read the history of execution '{head.execution_id}'"
        return self._call("Query", doing, lambda: self.store.segments(head, after))

    def keep(self, execution_id: str, key: str, value: bytes, *, new: bool = False, expires: int = 0) -> bool:
        """Write a value into an item of its own; `new`: only if there is no such item. Whether it is the one that stands."""
        doing = f"keep value '{key}' of execution '{execution_id}'"

        def keep() -> bool | _Stood:
            stood = new and self.store.find(execution_id, key) is not None
            same = self.store.keep(execution_id, key, value, new=new, expires=expires)
            return _Stood(same) if stood else same

        kept = self._on("PutItem", execution_id, key, doing, keep, value, frozenset({_Stood}))
        return kept.same if isinstance(kept, _Stood) else kept

    def kept(self, execution_id: str, key: str) -> bytes:
        """Return the value of such an item, as last written."""
        doing = f"read value '{key}' of execution '{execution_id}'"
        return self._on("GetItem", execution_id, key, doing, lambda: self.store.kept(execution_id, key))

    def together(
        self, update: Update, puts: Sequence[Put], writes: Sequence[Mapping[str, object]] = ()
    ) -> Head | Refused | Blocked:
        """Write the update, the items and the writes to the user's own tables in one transaction: all of it or nothing."""
        doing = f"update execution '{update.execution_id}' in a transaction"
        written = self._transaction(doing, lambda: self.store.together(update, puts, writes), _WRITE)
        if not isinstance(written, Head):
            return written
        head = self.read(update.execution_id)  # DynamoDB answers a transaction with no item
        return Refused(None) if head is None else head

    def waiting(self, execution_id: str, after: Mapping[str, int] | None, limit: int) -> Sequence[Sent]:
        """Return the oldest messages of each of these queues, numbered above the given; None: of all queues, every one."""
        doing = f"read the messages of execution '{execution_id}'"
        if after is None:
            return self._call("Query", doing, lambda: self.store.waiting(execution_id, None, limit))
        found: list[Sent] = []
        for queue, number in after.items():
            found += self._call("Query", doing, partial(self.store.waiting, execution_id, {queue: number}, limit))
        return found

    def find(self, execution_id: str, key: str) -> bytes | None:
        """Return the value of an item that may not be there."""
        doing = f"look for '{key}' of execution '{execution_id}'"
        return self._on("GetItem", execution_id, key, doing, lambda: self.store.find(execution_id, key))

    def drop(self, execution_id: str, keys: Sequence[str]) -> None:
        """Delete items of an execution that no head names; those that are gone already are no fault."""
        doing = f"delete items of execution '{execution_id}' that nothing names"
        for start in range(0, len(keys), BATCH):
            self._call("BatchWriteItem", doing, partial(self.store.drop, execution_id, keys[start : start + BATCH]))

    def due(self, shard: str, since: int, until: int, limit: int) -> Sequence[tuple[str, int]]:
        """Return executions of a shard that are due from then to then, soonest first."""
        return self._call(
            "Query", f"list what is due in shard {shard}", lambda: self.store.due(shard, since, until, limit)
        )

    def purge(self, head: Head) -> None:
        """Delete every item of an execution, the head last and only if it is still as given.

        In as many calls as DynamoDB needs, so that a process can die between any two of them.
        """
        execution_id, doing = head.execution_id, f"purge execution '{head.execution_id}'"
        found = self._call("Query", doing, lambda: list(self.store.sizes(execution_id)))
        self.drop(execution_id, [key for key in found if keys.goes_with(key, head.birth)])
        if any(map(keys.is_message, found)):
            messages = self._call("Query", doing, lambda: self.store.waiting(execution_id, None, 0))
            standing = self._on("GetItem", execution_id, keys.HEAD, doing, lambda: self.store.read(execution_id))
            for sent in messages if standing is not None and standing.birth == head.birth else ():
                take = partial(self.store.take, execution_id, sent)
                self._on("DeleteItem", execution_id, keys.message(sent.queue, sent.number), doing, take)
        self._on("DeleteItem", execution_id, keys.HEAD, doing, lambda: self.store.purge_head(head))

    def _on(
        self,
        operation: str,
        execution_id: str,
        key: str,
        doing: str,
        act: Callable[[], T],
        value: bytes | None = None,
        refused: Collection[type] = (),
    ) -> T:
        """A call on one item; `value` is what is written to it, `refused` are the types of what is returned otherwise."""

        def given() -> Mapping[str, Any]:
            place = {"pk": {"S": execution_id}, "sk": {"S": key}}
            if value is None:
                return {"TableName": self.table, "Key": place}
            return {"TableName": self.table, "Item": {**place, "value": {"B": base64.b64encode(value).decode()}}}

        refusal = _refusal(operation, refused)
        call = PortCall("dynamodb", operation, doing, given, {"pk": execution_id, "sk": key}, refusal)
        return self.attempts.make(call, act)

    def _call(self, operation: str, doing: str, act: Callable[[], T], refused: Collection[type] = ()) -> T:
        given = {"TableName": self.table}
        refusal = _refusal(operation, refused)
        return self.attempts.make(PortCall("dynamodb", operation, doing, lambda: given, None, refusal), act)

    def _transaction(self, doing: str, act: Callable[[], T], refused: Collection[type]) -> T:
        """One whose token was seen is answered as before, and not applied again."""
        applied: list[T] = []

        def once() -> T:
            if not applied:
                applied.append(act())
            return applied[0]

        return self._call("TransactWriteItems", doing, once, refused)


def _refusal(operation: str, refused: Collection[type]) -> Callable[[object], str | None]:
    return lambda result: _ERRORS[operation] if type(result) in refused else None
