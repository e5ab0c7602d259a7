"""What the writes that go by mean for the pump: streams that have grown, executions that will be due."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from durable.protocol.head import AT_REST, TERMINAL
from durable.testing.aws.metering import Meter, ReadItem
from durable.testing.aws.units import Item
from durable.testing.aws.wire import Answer, Request


@dataclass(slots=True)
class Watch:
    """Keeps the due times of the heads, as the due index has them, and whether anything was written."""

    meter: Meter
    read: ReadItem
    writes: int = 0  # how many there were
    _changed: dict[tuple[str, tuple[tuple[str, str], ...]], Item] = field(default_factory=dict)
    _due: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[int, bool]] = field(default_factory=dict)

    def after(self, request: Request, answer: Answer) -> None:
        """Takes note of a write."""
        if answer.error is None:
            for table, key in self.meter.keys_written(request):
                self.writes += 1
                self._changed[table, _hashable(key)] = key

    def growth(self) -> Callable[[], bool]:
        """A function that says whether anything was written since it was last called."""
        seen = -1

        def has_grown() -> bool:
            nonlocal seen
            before, seen = seen, self.writes
            return before != self.writes

        return has_grown

    def due(self, *, open_only: bool) -> int | None:
        """The earliest due time in the index; of those that go on by themselves, or of the ended too (their purge)."""
        self._refresh()
        return min((due for due, is_open in self._due.values() if is_open or not open_only), default=None)

    def _refresh(self) -> None:
        for (table, hashable), key in self._changed.items():
            item = self.read(table, key) or {}
            if "due" in item and "due_shard" in item:
                status = item.get("status", {}).get("S", "")
                is_open = status not in TERMINAL and status not in AT_REST
                self._due[table, hashable] = int(item["due"]["N"]), is_open
            else:
                self._due.pop((table, hashable), None)
        self._changed.clear()


def _hashable(key: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value)) for name, value in key.items()))
