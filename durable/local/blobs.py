"""Large values, as S3 keeps them: one row for each object."""

from __future__ import annotations

from collections.abc import Sequence

from durable.errors import StoreError
from durable.local.database import Database


class SqliteBlobs:
    """Implements `durable.runtime.ports.Blobs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, key: str, value: bytes) -> None:
        """Write an object; every later `get` returns it."""
        with self._database as connection:
            connection.execute("INSERT OR REPLACE INTO blob VALUES (?, ?)", (key, value))

    def get(self, key: str) -> bytes:
        """Return an object's bytes; raises StoreError if there is none."""
        found = self._database.rows("SELECT value FROM blob WHERE key = ?", (key,))
        if not found:
            raise StoreError(f"could not read '{key}' from the local store: there is no such object")
        value: bytes = found[0][0]
        return value

    def drop(self, keys: Sequence[str]) -> None:
        """Delete objects; those that are gone already are no fault."""
        with self._database as connection:
            connection.executemany("DELETE FROM blob WHERE key = ?", [(key,) for key in keys])

    def purge(self, prefix: str) -> None:
        """Delete every object whose key begins so."""
        with self._database as connection:
            connection.execute("DELETE FROM blob WHERE substr(key, 1, ?) = ?", (len(prefix), prefix))

    def keys(self, prefix: str = "") -> list[str]:
        """Return the keys that begin so, in order."""
        found = self._database.rows(
            "SELECT key FROM blob WHERE substr(key, 1, ?) = ? ORDER BY key", (len(prefix), prefix)
        )
        return [key for (key,) in found]
