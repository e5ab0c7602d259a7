"""The store over SQLite. Each method is one transaction.

A head is one row: the whole of it as a blob, with the columns that are searched by. Everything else of an execution is
an item under its key. A change of a head's status, or of its rollback's outcome, is kept for the local stream.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

import msgspec

from durable.api.messages import Sent, read_sent
from durable.codec import formats
from durable.errors import StoreError
from durable.local.conditions import applied, holds
from durable.local.database import Database
from durable.local.tables import NotWritten, OwnTables
from durable.protocol import keys
from durable.protocol.head import AT_REST, TERMINAL, Head
from durable.protocol.updates import Blocked, Put, Refused, Segment, Update

MAX_ITEM = 400 * 1024  # bytes; what DynamoDB takes in one item

_CLOSED = ", ".join(f"'{status}'" for status in sorted(TERMINAL | AT_REST))
_OPEN = f"AND status NOT IN ({_CLOSED})"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Head).decode


class _Formatted(msgspec.Struct):
    execution_id: str
    format: int = 1


_format = msgspec.msgpack.Decoder(_Formatted).decode


class SqliteStore:
    """Implements `durable.runtime.ports.Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables = OwnTables(database)

    def create(self, head: Head, segment: Segment | None) -> Head | None:
        """Write a new execution and its first segment, if any, both or neither. Returns the one that exists, if any."""
        with self._database as connection:
            if (standing := _read(connection, head.execution_id)) is not None:
                return standing
            if segment is not None:
                _seal(connection, head.execution_id, segment)
            blob = _encode(head)
            connection.execute(
                "INSERT INTO head VALUES (?, ?, ?, ?, ?)",
                (head.execution_id, blob, head.status, head.due_shard, head.due),
            )
            connection.execute("INSERT INTO change (before, after) VALUES (NULL, ?)", (blob,))
        return None

    def read(self, execution_id: str) -> Head | None:
        """Return the head as last written."""
        found = self._database.rows("SELECT head FROM head WHERE pk = ?", (execution_id,))
        return _head(found[0][0]) if found else None

    def update(self, update: Update) -> Head | Refused:
        """Write if the conditions hold: the head after it, or the refusal. Later reads return what it accepted."""
        with self._database as connection:
            return _update(connection, update)

    def seal(self, execution_id: str, segment: Segment) -> None:
        """Write a segment. It counts only once a head names it."""
        with self._database as connection:
            _seal(connection, execution_id, segment)

    def segments(self, head: Head, after: int) -> Sequence[Segment]:
        """Return the segments that the head's chain reaches, numbered above `after`, oldest first."""
        chain: list[Segment] = []
        key = head.segment if head.segments > after else ""
        with self._database as connection:
            while key and keys.segment_number(key) > after:
                found = _item(connection, head.execution_id, key)
                if found is None:
                    raise StoreError(
                        f"the history of execution '{head.execution_id}' lacks a segment of the chain that ends in "
                        f"'{head.segment}': something else deleted it. Restore the store, or terminate the execution."
                    )
                chain.append(Segment(key, found[1], found[0]))
                key = found[1]
        return chain[::-1]

    def keep(self, execution_id: str, key: str, value: bytes, *, new: bool = False, expires: int = 0) -> bool:
        """Write a value into an item of its own; `new`: only if there is no such item. Whether it is the one that stands."""
        with self._database as connection:
            standing = _item(connection, execution_id, key) if new else None
            if standing is None:
                _keep(connection, execution_id, key, value, expires)
            return standing is None or standing[0] == value

    def kept(self, execution_id: str, key: str) -> bytes:
        """Return the value of such an item, as last written."""
        value = self.find(execution_id, key)
        if value is None:
            raise StoreError(
                f"execution '{execution_id}' has no value '{key}', which its head names: something else deleted it. "
                "Restore the store, or terminate the execution."
            )
        return value

    def together(
        self, update: Update, puts: Sequence[Put], writes: Sequence[Mapping[str, object]] = ()
    ) -> Head | Refused | Blocked:
        """Write the update, the items and the writes to the user's own tables in one transaction: all of it or nothing."""
        try:
            with self._database as connection:
                head = _update(connection, update)
                if isinstance(head, Refused):
                    return head
                for at, put in enumerate(puts):
                    _put(connection, update.execution_id, put, at)
                self._tables.write(connection, writes, len(puts))
                return head
        except NotWritten as reason:
            return Blocked(reason.index, str(reason), invalid=reason.invalid)

    def waiting(self, execution_id: str, after: Mapping[str, int] | None, limit: int) -> Sequence[Sent]:
        """Return the oldest messages of each of these queues, numbered above the given; None: of all queues, every one."""
        if after is None:
            ranges = [(keys.messages(), f"{keys.messages()}{keys.LAST}", -1)]
        else:
            ranges = [
                (keys.message(name, number + 1), f"{keys.messages(name)}{keys.LAST}", limit)
                for name, number in after.items()
            ]
        with self._database as connection:
            return [
                read_sent(value)
                for first, last, most in ranges
                for (value,) in connection.execute(
                    "SELECT value FROM item WHERE pk = ? AND sk BETWEEN ? AND ? ORDER BY sk LIMIT ?",
                    (execution_id, first, last, most),
                )
            ]

    def find(self, execution_id: str, key: str) -> bytes | None:
        """Return the value of an item that may not be there."""
        found = self._database.rows("SELECT value FROM item WHERE pk = ? AND sk = ?", (execution_id, key))
        return found[0][0] if found else None

    def drop(self, execution_id: str, keys: Sequence[str]) -> None:
        """Delete items of an execution that no head names; those that are gone already are no fault."""
        with self._database as connection:
            connection.executemany("DELETE FROM item WHERE pk = ? AND sk = ?", [(execution_id, key) for key in keys])

    def due(self, shard: str, since: int, until: int, limit: int) -> Sequence[tuple[str, int]]:
        """Return executions of a shard that are due from then to then, soonest first; what has expired by then is deleted."""
        if self._database.rows("SELECT 1 FROM item WHERE expires > 0 AND expires <= ? LIMIT 1", (until,)):
            with self._database as connection:
                connection.execute("DELETE FROM item WHERE expires > 0 AND expires <= ?", (until,))
        return self._database.rows(
            "SELECT pk, due FROM head WHERE due > 0 AND due BETWEEN ? AND ? AND due_shard = ? ORDER BY due LIMIT ?",
            (since, until, shard, limit),
        )

    def next_due(self, *, open_only: bool) -> int | None:
        """Return the earliest due time; of executions that go on by themselves, or of those at their end too."""
        where = _OPEN if open_only else ""
        found = self._database.rows(f"SELECT due FROM head WHERE due > 0 {where} ORDER BY due LIMIT 1")
        return found[0][0] if found else None

    def sizes(self, execution_id: str) -> Mapping[str, int]:
        """Return the keys of what is stored of an execution, its head's too, and how many bytes each has."""
        return dict(
            self._database.rows(
                "SELECT 'head', length(head) FROM head WHERE pk = ?1 UNION ALL "
                "SELECT sk, length(value) FROM item WHERE pk = ?1",
                (execution_id,),
            )
        )

    def purge(self, head: Head) -> None:
        """Delete every item of an execution, and its head if it is still as given.

        What belongs to a later execution of the same id stays; what an earlier one has left goes too.
        """
        pk = head.execution_id
        with self._database as connection:
            found = connection.execute("SELECT sk FROM item WHERE pk = ?", (pk,)).fetchall()
            standing = _read(connection, pk)
            gone = [(pk, key) for (key,) in found if keys.goes_with(key, head.birth)]
            if standing is not None and standing.birth == head.birth:
                gone += [(pk, key) for (key,) in found if keys.is_message(key)]
            connection.executemany("DELETE FROM item WHERE pk = ? AND sk = ?", gone)
            _purge_head(connection, head)

    def purge_head(self, head: Head) -> None:
        """Delete a head, if it is still as given."""
        with self._database as connection:
            _purge_head(connection, head)

    def take(self, execution_id: str, sent: Sent) -> None:
        """Delete a message that waits, if it is this one."""
        value = msgspec.json.encode(sent)
        with self._database as connection:
            connection.execute(
                "DELETE FROM item WHERE pk = ? AND sk = ? AND value = ?",
                (execution_id, keys.message(sent.queue, sent.number), value),
            )


def _purge_head(connection: sqlite3.Connection, head: Head) -> None:
    standing = _read(connection, head.execution_id)
    as_given = (head.birth, head.status, head.purging)
    if standing is not None and (standing.birth, standing.status, standing.purging) == as_given:
        connection.execute("DELETE FROM head WHERE pk = ?", (head.execution_id,))


def _read(connection: sqlite3.Connection, execution_id: str) -> Head | None:
    found = connection.execute("SELECT head FROM head WHERE pk = ?", (execution_id,)).fetchone()
    return None if found is None else _head(found[0])


def _head(blob: bytes) -> Head:
    """Return a head; raises NewerFormat."""
    stands = _format(blob)
    formats.checked(stands.format, f"execution '{stands.execution_id}'")
    return _decode(blob)


def _update(connection: sqlite3.Connection, update: Update) -> Head | Refused:
    found = connection.execute("SELECT head FROM head WHERE pk = ?", (update.execution_id,)).fetchone()
    if found is None:
        return Refused(None)
    before = _head(found[0])
    if not holds(before, update.where):
        return Refused(before)
    after = applied(before, update)
    blob = _encode(after)
    _check_size(len(blob), f"update execution '{after.execution_id}'")
    if (before.status, before.due, before.due_shard) == (after.status, after.due, after.due_shard):
        connection.execute("UPDATE head SET head = ? WHERE pk = ?", (blob, after.execution_id))
    else:
        connection.execute(
            "UPDATE head SET head = ?, status = ?, due_shard = ?, due = ? WHERE pk = ?",
            (blob, after.status, after.due_shard, after.due, after.execution_id),
        )
    if (before.status, before.rollback) != (after.status, after.rollback):
        connection.execute("INSERT INTO change (before, after) VALUES (?, ?)", (found[0], blob))
    return after


def _item(connection: sqlite3.Connection, execution_id: str, key: str) -> tuple[bytes, str] | None:
    """Return the value of an item and, of a segment, the key of its predecessor."""
    found: tuple[bytes, str] | None = connection.execute(
        "SELECT value, previous FROM item WHERE pk = ? AND sk = ?", (execution_id, key)
    ).fetchone()
    return found


def _seal(connection: sqlite3.Connection, execution_id: str, segment: Segment) -> None:
    _write(connection, execution_id, segment.key, segment.entries, segment.previous, 0)


def _keep(connection: sqlite3.Connection, execution_id: str, key: str, value: bytes, expires: int) -> None:
    _write(connection, execution_id, key, value, "", expires)


def _write(
    connection: sqlite3.Connection, execution_id: str, key: str, value: bytes, previous: str, expires: int
) -> None:
    _check_size(len(value) + len(key) + len(execution_id), f"keep value '{key}' of execution '{execution_id}'")
    connection.execute(
        "INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?, ?)", (execution_id, key, value, previous, expires)
    )


def _check_size(size: int, doing: str) -> None:
    if size > MAX_ITEM:
        raise StoreError(f"could not {doing}: it is larger than the 400 KB that DynamoDB takes in one item")


def _put(connection: sqlite3.Connection, execution_id: str, put: Put, index: int) -> None:
    if put.value is None:
        connection.execute("DELETE FROM item WHERE pk = ? AND sk = ?", (execution_id, put.key))
        return
    if put.new and _item(connection, execution_id, put.key) is not None:
        raise NotWritten(index, "The conditional request failed")
    _keep(connection, execution_id, put.key, put.value, put.expires)
