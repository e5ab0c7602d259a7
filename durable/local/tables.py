"""The user's own tables: what `step.transact` writes to, in the transaction of the step's record.

Items and writes are as boto3's client takes them. A write is one element of TransactItems: Put, Update, Delete or
ConditionCheck, with the conditions and updates of `durable.local.expressions`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from durable.errors import ConfigurationError
from durable.local.database import Database
from durable.local.expressions import Invalid, Item, Unsupported, condition_holds, updated

MAX_ITEM = 400 * 1024  # bytes

_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "Put": ("TableName", "Item"),
    "Update": ("TableName", "Key", "UpdateExpression"),
    "Delete": ("TableName", "Key"),
    "ConditionCheck": ("TableName", "Key", "ConditionExpression"),
}


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(dict[str, dict[str, Any]]).decode


class NotWritten(Exception):
    """A transaction that can't be written; `index` says which write is to blame, None that the whole request is."""

    def __init__(self, index: int | None, reason: str, *, invalid: bool = True) -> None:
        self.index = index
        self.invalid = invalid  # False: a condition did not hold
        super().__init__(reason)


class OwnTables:
    """Tables beside the engine's own, in the same database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, *keys: str) -> None:
        """Make a table with this partition key and, if a second one is given, this sort key."""
        if not 1 <= len(keys) <= 2:
            raise ConfigurationError(
                f"the table {name!r} needs a partition key, and may have a sort key; not {keys!r}."
            )
        with self._database as connection:
            connection.execute("INSERT INTO own_table VALUES (?, ?)", (name, json.dumps(keys)))

    def get(self, name: str, key: Item) -> Item | None:
        """Return the item of this key, or None."""
        with self._open() as connection:
            return _find(connection, name, _key(connection, name, key))

    def items(self, name: str) -> list[Item]:
        """Return every item of a table, in no order."""
        found = self._database.rows("SELECT item FROM own_item WHERE name = ?", (name,))
        return [_unpack(item) for (item,) in found]

    def put(self, name: str, item: Item) -> None:
        """Write an item."""
        with self._open() as connection:
            _store(connection, name, _key(connection, name, item), item)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._database as connection:
                yield connection
        except NotWritten as reason:
            raise ConfigurationError(str(reason)) from reason

    def write(self, connection: sqlite3.Connection, writes: Sequence[Mapping[str, Any]], before: int) -> None:
        """Carry the writes out in a transaction that has so many others before them; raises NotWritten.

        Every condition is judged on the items as they were before the transaction.
        """
        if not writes:
            return
        planned = [_planned(connection, write, at, before + at) for at, write in enumerate(writes)]
        if len({place for place, _ in planned}) < len(planned):
            raise NotWritten(None, "Transaction request cannot include multiple operations on one item")
        for (name, key), item in planned:
            _store(connection, name, key, item)


Place = tuple[str, bytes]  # the table, and the packed key


def _planned(
    connection: sqlite3.Connection, write: Mapping[str, Any], at: int, index: int
) -> tuple[Place, Item | None]:
    """Return where the write goes and the item after it; None: it is deleted."""
    ((kind, details),) = write.items()
    _check(kind, details, f"TransactItems[{at}].{kind}")
    name = details["TableName"]
    key = _key(connection, name, details.get("Key") or details["Item"])
    standing = _find(connection, name, key)
    try:
        if not condition_holds(details, standing):
            raise NotWritten(index, "The conditional request failed", invalid=False)
        item = _after(kind, details, standing)
    except (Invalid, Unsupported) as error:
        raise NotWritten(index, str(error)) from error
    if item is not None and len(_pack(item)) > MAX_ITEM:
        raise NotWritten(index, "Item size has exceeded the maximum allowed size")
    return (name, key), item


def _after(kind: str, details: Mapping[str, Any], standing: Item | None) -> Item | None:
    match kind:
        case "Put":
            item: Item = details["Item"]
            return item
        case "Update":
            return updated(details, standing if standing is not None else details["Key"])
        case "Delete":
            return None
        case _:
            return standing


def _check(kind: str, details: Mapping[str, Any], where: str) -> None:
    """Raise NotWritten if the write has not the shape that boto3's client takes."""
    for name in _REQUIRED[kind]:
        if name not in details:
            raise NotWritten(None, f'Parameter validation failed: Missing required parameter in {where}: "{name}"')
    for name, value in (details.get("Item") or details["Key"]).items():
        if not isinstance(value, Mapping) or len(value) != 1:
            raise NotWritten(
                None,
                f"Parameter validation failed: Invalid type for parameter {where}.{name}, value: {value!r}, "
                f"type: {type(value)}, valid types: <class 'dict'> of one type and its value",
            )


def _key(connection: sqlite3.Connection, name: str, item: Item) -> bytes:
    found = connection.execute("SELECT keys FROM own_table WHERE name = ?", (name,)).fetchone()
    if found is None:
        raise NotWritten(None, f"Requested resource not found: there is no table {name!r}")
    keys = json.loads(found[0])
    missing = [key for key in keys if key not in item]
    if missing:
        raise NotWritten(None, f"One of the required keys was not given a value: {', '.join(missing)}")
    return _pack({key: item[key] for key in keys})


def _find(connection: sqlite3.Connection, name: str, key: bytes) -> Item | None:
    found = connection.execute("SELECT item FROM own_item WHERE name = ? AND key = ?", (name, key)).fetchone()
    return None if found is None else _unpack(found[0])


def _store(connection: sqlite3.Connection, name: str, key: bytes, item: Item | None) -> None:
    if item is None:
        connection.execute("DELETE FROM own_item WHERE name = ? AND key = ?", (name, key))
    else:
        connection.execute("INSERT OR REPLACE INTO own_item VALUES (?, ?, ?)", (name, key, _pack(item)))
