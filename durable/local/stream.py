"""The local stream: each change of a head's status, or of its rollback's outcome, in the order of the writes."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from durable.local.database import Database
from durable.protocol.head import Head

_decode = msgspec.msgpack.Decoder(Head).decode


class Change(Struct, frozen=True):
    """A head before and after a write; None before: it was created."""

    number: int
    before: Head | None
    after: Head


class Changes:
    """Reads the stream. What is forgotten is gone for every reader."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def after(self, number: int, limit: int = 1_000) -> list[Change]:
        """Return the changes numbered above that, oldest first."""
        found = self._database.rows(
            "SELECT number, before, after FROM change WHERE number > ? ORDER BY number LIMIT ?", (number, limit)
        )
        return [Change(at, _decode(before) if before else None, _decode(after)) for at, before, after in found]

    def forget(self, number: int) -> None:
        """Delete the changes up to that number."""
        with self._database as connection:
            connection.execute("DELETE FROM change WHERE number <= ?", (number,))
