"""The history of an execution: what has happened, entry by entry, found by path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from durable import codec
from durable.engine import paths
from durable.engine.entries import Entry, EntryKind


def _nowhere(reference: str) -> bytes:
    raise LookupError(f"this history does not know where '{reference}' is kept")


class History:
    """The entries of one execution, for one replay of it."""

    __slots__ = (
        "_boundary",
        "_next_order",
        "cause",
        "divergence",
        "fetch",
        "forgotten",
        "input",
        "operations",
        "output",
        "rollbacks",
    )

    def __init__(self, entries: Iterable[Entry] = (), fetch: Callable[[str], bytes] = _nowhere) -> None:
        """`fetch` finds the values that are kept elsewhere."""
        self.fetch = fetch
        self.input: Entry | None = None
        self.cause: Entry | None = None
        self.divergence: Entry | None = None
        self.output: Entry | None = None
        self.operations: dict[str, Entry] = {}
        self.rollbacks: dict[str, Entry] = {}
        self._next_order = 1
        self._boundary = 0
        self.forgotten: list[str] = []
        for entry in entries:
            self.record(entry)
        self.forgotten = []  # references of values that no entry holds any more, since then

    def value(self, entry: Entry, annotation: Any = Any) -> Any:
        """The recorded value of an entry, wherever it is kept."""
        if not entry.kept:
            return entry.value(annotation)
        return codec.decode(self.fetch(entry.kept), annotation)

    def record(self, entry: Entry) -> None:
        """Take an entry in; a later one of the same kind and path replaces the earlier."""
        match entry.kind:
            case EntryKind.INPUT:
                self.input = entry
            case EntryKind.CAUSE:
                self.cause = entry
            case EntryKind.OUTPUT:
                self.output = entry
            case EntryKind.DIVERGENCE:
                self.divergence = entry
            case EntryKind.ROLLBACK:
                self.rollbacks[entry.path] = entry
            case _:
                if before := self.operations.get(entry.path):
                    self._forget(before, entry)
                self.operations[entry.path] = entry
                self._next_order = max(self._next_order, entry.order + 1, entry.latest + 1)
                if entry.kind is EntryKind.CHECKPOINT:
                    self._boundary = max(self._boundary, entry.order)
                elif entry.kind is EntryKind.LOOP:
                    self._boundary = max(self._boundary, entry.boundary)
                    self._forget_iterations(entry)

    @property
    def next_order(self) -> int:
        """The place of the next operation in the order of starts."""
        return self._next_order

    @property
    def boundary(self) -> int:
        """The place of the last rollback checkpoint: what started before it is settled business (R14)."""
        return self._boundary

    def undoable_steps(self, scope: str = "") -> list[Entry]:
        """The started steps inside a scope whose rollbacks a failure would run, latest start first (R4, R5)."""
        found = [
            entry
            for entry in self.operations.values()
            if entry.undoable
            and entry.kind is EntryKind.STEP
            and entry.order > self._boundary
            and paths.within(entry.path, scope)
        ]
        return sorted(found, key=lambda entry: entry.order, reverse=True)

    def _forget_iterations(self, loop: Entry) -> None:
        """Drop the iterations that a loop no longer keeps (L3)."""
        for path in list(self.operations):
            iteration = paths.iteration_of(path, loop.path)
            if iteration is not None and iteration < loop.kept_from:
                self._forget(self.operations.pop(path))

    def _forget(self, entry: Entry, by: Entry | None = None) -> None:
        held = by.references if by is not None else ()
        self.forgotten += [reference for reference in entry.references if reference not in held]

    def __iter__(self) -> Iterator[Entry]:
        """Every live entry: the input, the operations by start, the cause, the rollbacks, the end."""
        if self.input is not None:
            yield self.input
        yield from sorted(self.operations.values(), key=lambda entry: entry.order)
        if self.cause is not None:
            yield self.cause
        yield from self.rollbacks.values()
        for end in (self.output, self.divergence):
            if end is not None:
                yield end
