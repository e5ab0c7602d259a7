"""A rollback checkpoint: what started before it is settled business, and a later failure does not undo it (R14)."""

from __future__ import annotations

from durable.engine.entries import Entry, EntryKind
from durable.engine.replay import Replay, Scope


def rollback_checkpoint(replay: Replay, scope: Scope, name: str) -> None:
    """Draw the boundary. It is recorded before any later body runs: a crash can't leave it in doubt."""
    replay.enter(scope)
    path = scope.name(name)
    entry = replay.visit(path, EntryKind.CHECKPOINT)
    if entry is None:
        if replay.undoing:
            replay.suspend()  # it was not recorded, so nothing after it has started
        now = replay.driver.now()
        entry = Entry(path=path, kind=EntryKind.CHECKPOINT, order=replay.history.next_order, started=now, ended=now)
        replay.note(entry, first=True)
    replay.passed(path, entry.ended)
