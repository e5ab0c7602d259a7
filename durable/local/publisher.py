"""Events for the user's own subscribers: kept in order, and handed to whoever listens in this process."""

from __future__ import annotations

import json
from collections.abc import Callable

from msgspec import Struct

from durable.errors import InvalidInput, StoreError
from durable.local.database import Database

MAX_EVENT = 1024 * 1024  # bytes of source, event and detail: what EventBridge takes


class Event(Struct, frozen=True):
    """A published event; `detail` is a JSON object."""

    event: str
    source: str
    detail: str


class SqlitePublisher:
    """Implements `durable.runtime.ports.Publisher`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.listeners: list[Callable[[Event], object]] = []  # called with each event once it is kept

    def publish(self, event: str, source: str, detail: str) -> None:
        """Publish an event; raises InvalidInput when it is too large, StoreError when `detail` is no JSON object."""
        size = sum(len(part.encode()) for part in (event, source, detail))
        if size > MAX_EVENT:
            raise InvalidInput(
                f"the event '{event}' is {size:,} bytes; EventBridge takes at most {MAX_EVENT:,}. "
                "Put the data where it belongs, and publish its key."
            )
        if not _is_object(detail):
            raise StoreError(f"could not publish event '{event}': MalformedDetail: Detail is malformed.")
        with self._database as connection:
            connection.execute("INSERT INTO event (event, source, detail) VALUES (?, ?, ?)", (event, source, detail))
        for listener in self.listeners:
            listener(Event(event, source, detail))

    @property
    def published(self) -> list[Event]:
        """Every event that was published, in order."""
        return [Event(*row) for row in self._database.rows("SELECT event, source, detail FROM event ORDER BY number")]


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
