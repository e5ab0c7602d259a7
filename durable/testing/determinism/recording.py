"""What was recorded of an execution, as data that can be replayed anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Self

import msgspec

from durable.codec.formats import NewerFormat
from durable.engine.entries import Entry
from durable.engine.history import History
from durable.protocol.head import Head
from durable.runtime.client.snapshot import Snapshot, look
from durable.runtime.ports import Ports


class Recording(msgspec.Struct, frozen=True):
    """The head of an execution, its entries, and the values that are kept elsewhere, by reference."""

    head: Head
    entries: list[Entry]
    values: Mapping[str, bytes]

    @classmethod
    def read(cls, ports: Ports, execution_id: str) -> Self | None:
        """Read an execution; None when there is none of this id (any more), or a newer release has written it."""
        try:
            head = ports.store.read(execution_id)
            if head is None:
                return None
            return look(ports, head, None, partial(cls._of, fetch=partial(ports.values.kept, execution_id)))
        except NewerFormat:
            return None

    @classmethod
    def _of(cls, snapshot: Snapshot, fetch: Callable[[str], bytes]) -> Self:
        entries = list(snapshot.history)
        references = {reference for entry in entries for reference in entry.references}
        return cls(snapshot.head, entries, {reference: fetch(reference) for reference in references})

    def history(self) -> History:
        """Return a history of its own for one replay."""
        return History(self.entries)
