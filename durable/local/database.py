"""The SQLite database behind all local ports: its tables, and transactions that one thread or process has at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from durable.errors import ConfigurationError, StoreError

FORMAT = 1  # of the tables below
BUSY = 10.0  # seconds to wait for another process that writes to the same file

_TABLES = """
CREATE TABLE head (pk TEXT PRIMARY KEY, head BLOB, status TEXT, due_shard TEXT, due INTEGER) WITHOUT ROWID;
CREATE INDEX due ON head (due, due_shard, status) WHERE due > 0;
CREATE TABLE item (
    pk TEXT, sk TEXT, value BLOB, previous TEXT, expires INTEGER, PRIMARY KEY (pk, sk)
) WITHOUT ROWID;
CREATE INDEX expires ON item (expires) WHERE expires > 0;
CREATE TABLE change (number INTEGER PRIMARY KEY AUTOINCREMENT, before BLOB, after BLOB);
CREATE TABLE message (
    number INTEGER PRIMARY KEY, id TEXT, queue TEXT, body TEXT, attributes TEXT, sent INTEGER, visible INTEGER,
    received INTEGER, first INTEGER, origin TEXT, copy INTEGER
);
CREATE INDEX visible ON message (queue, visible, number);
CREATE INDEX copies ON message (queue, visible) WHERE copy > 0;
CREATE TABLE schedule (name TEXT PRIMARY KEY, moment INTEGER, queue TEXT, body TEXT);
CREATE INDEX moment ON schedule (moment);
CREATE TABLE blob (key TEXT PRIMARY KEY, value BLOB);
CREATE TABLE event (number INTEGER PRIMARY KEY, event TEXT, source TEXT, detail TEXT);
CREATE TABLE own_table (name TEXT PRIMARY KEY, keys TEXT);
CREATE TABLE own_item (name TEXT, key BLOB, item BLOB, PRIMARY KEY (name, key));
"""


class Database:
    """One connection. `with database as connection:` is one transaction; what is raised within rolls it back.

    SQLite's own errors leave as StoreError. Transactions are not nested.
    """

    def __init__(self, path: Path | str = ":memory:") -> None:
        """Open the file, or memory, and make the tables if they are not there."""
        self.path = str(path)
        self._connection = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None, check_same_thread=False)
        self._lock = threading.Lock()
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; what is in memory is gone."""
        self._connection.close()

    def serialize(self) -> bytes:
        """Return everything that is stored, for `deserialize`."""
        with self._lock:
            return self._connection.serialize()

    def deserialize(self, stored: bytes) -> None:
        """Replace everything that is stored by what `serialize` returned."""
        with self._lock:
            self._connection.deserialize(stored)

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Return what one SELECT finds: by itself it needs no transaction."""
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise self._failure(error) from error

    def __enter__(self) -> sqlite3.Connection:
        self._lock.acquire()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            self._lock.release()
            if isinstance(error, sqlite3.Error):
                raise self._failure(error) from error
            raise
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._connection.execute("COMMIT" if error is None else "ROLLBACK")
        except sqlite3.Error as failed:
            raise self._failure(failed) from failed
        finally:
            self._lock.release()
        if isinstance(error, sqlite3.Error):
            raise self._failure(error) from error

    def _failure(self, error: sqlite3.Error) -> StoreError:
        return StoreError(f"the local store {self.path} failed: {type(error).__name__}: {error}")

    def _prepare(self) -> None:
        ((found,),) = self.rows("PRAGMA user_version")
        if found not in (0, FORMAT):
            raise ConfigurationError(
                f"the local store {self.path} has format {found}; this version of the library reads format {FORMAT}. "
                "Use the version that wrote it, or another file."
            )
        if self.path != ":memory:":
            self.rows("PRAGMA journal_mode = WAL")
            self.rows("PRAGMA synchronous = NORMAL")
        with self as connection:
            (found,) = connection.execute("PRAGMA user_version").fetchone()
            if found == 0:  # nobody else has made the tables meanwhile
                for statement in _TABLES.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {FORMAT}")
