"""Compaction: what a loop has forgotten leaves the table too (L3).

Segments never change, so the ones that hold something forgotten are replaced by others without it, which name the last
intact segment as their predecessor. The checkpoint that names the new ones makes it so; the old ones are deleted after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, json

from durable.engine.entries import Entry, LoopEntry, unpack
from durable.engine.history import History
from durable.protocol.updates import Segment

MAX_SEGMENT = 150_000  # bytes of entries that go into one segment together: an item holds 400 KB


class Compacted(Struct, frozen=True):
    """What is left of a chain: the intact part of it, and the live entries of the rest."""

    intact: Sequence[Segment]
    dropped: Sequence[Segment]
    live: Sequence[Entry]


def compact(chain: Sequence[Segment], newer: Sequence[Entry]) -> Compacted:
    """Split a chain before its first segment that holds what is forgotten or replaced by something newer."""
    stored = [unpack(segment.entries) for segment in chain]
    everything = [*(entry for entries in stored for entry in entries), *newer]
    live = {id(entry) for entry in History(everything)}
    first = next(
        (at for at, entries in enumerate(stored) if any(id(entry) not in live for entry in entries)), len(stored)
    )
    rest = [*(entry for entries in stored[first:] for entry in entries), *newer]
    return Compacted(chain[:first], chain[first:], [entry for entry in rest if id(entry) in live])


def forgets(entries: Sequence[Entry]) -> bool:
    """Whether recording these entries makes a loop forget iterations."""
    return any(isinstance(entry, LoopEntry) and entry.kept_from > 0 for entry in entries)


def portions(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """The entries in order, as many together as fit into a segment."""
    portion: list[Entry] = []
    size = 0
    for entry in entries:
        length = len(json.encode(entry))
        if portion and size + length > MAX_SEGMENT:
            yield portion
            portion, size = [], 0
        portion.append(entry)
        size += length
    yield portion
