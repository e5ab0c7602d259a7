"""What was recorded of an execution, as data that can be replayed anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self

import msgspec

from durable.engine.entries import Entry, pack, unpack
from durable.engine.history import History
from durable.protocol.head import Head
from durable.runtime.client.execution import history_of
from durable.runtime.client.reading import reading
from durable.runtime.ports import Ports


class Recording(msgspec.Struct, frozen=True):
    """The head of an execution, its entries, and the values that are kept elsewhere, by reference."""

    head: Head
    packed: bytes
    values: Mapping[str, bytes]

    @classmethod
    def read(cls, ports: Ports, execution_id: str) -> Self | None:
        """Read an execution; None when there is none of this id (any more)."""
        head = ports.store.read(execution_id)
        if head is None:
            return None
        return reading(ports.store, head, lambda seen: cls.of(seen, history_of(ports, seen), ports.values.kept))

    @classmethod
    def of(cls, head: Head, history: History, fetch: Callable[[str, str], bytes]) -> Self:
        """Make the recording of a history, with all values that it names."""
        entries = list(history)
        references = {reference for entry in entries for reference in entry.references}
        return cls(head, pack(entries), {reference: fetch(head.execution_id, reference) for reference in references})

    @property
    def entries(self) -> list[Entry]:
        """Its entries."""
        return unpack(self.packed)

    def history(self) -> History:
        """Return a history of its own for one replay."""
        return History(self.entries)
