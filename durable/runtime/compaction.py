"""Compaction: what a loop has forgotten leaves the table too (L3).

Segments never change, so the ones that hold something forgotten are replaced by one without it, which names the last intact
segment as its predecessor. The checkpoint that names the new one makes it so; the old ones are deleted after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from durable.engine.history import Entry, EntryKind, History, unpack
from durable.runtime.ports import Segment


@dataclass(frozen=True, slots=True)
class Compacted:
    """What is left of a chain: the intact part of it, and the live entries of the rest."""

    intact: Sequence[Segment]
    dropped: Sequence[Segment]
    live: Sequence[Entry]


def compact(chain: Sequence[Segment], newer: Sequence[Entry]) -> Compacted:
    """Split a chain before its first segment that holds what is forgotten or replaced by something newer."""
    stored = [unpack(segment.entries) for segment in chain]
    everything = [*(entry for entries in stored for entry in entries), *newer]
    history = History(everything)
    live = {id(entry) for entry in history}
    first = next(
        (at for at, entries in enumerate(stored) if any(id(entry) not in live for entry in entries)), len(stored)
    )
    rest = [*(entry for entries in stored[first:] for entry in entries), *newer]
    return Compacted(chain[:first], chain[first:], [entry for entry in rest if id(entry) in live])


def forgets(entries: Sequence[Entry]) -> bool:
    """Whether recording these entries makes a loop forget iterations."""
    return any(entry.kind is EntryKind.LOOP and entry.kept_from > 0 for entry in entries)
