"""A rollback checkpoint: what started before it is not rolled back by a later failure (R14)."""

from __future__ import annotations

from durable.engine.entries import CheckpointEntry
from durable.engine.operations.guarded import guarded
from durable.engine.scope import CodeScope


@guarded
def rollback_checkpoint(scope: CodeScope, name: str) -> None:
    """Draw the boundary."""
    branch = scope.enter()
    path, leaf = scope.name(name)
    entry = branch.visit(scope.recorded, leaf, path, CheckpointEntry)
    if entry is None:
        replay = branch.replay
        if replay.collecting:
            branch.stop()  # it was not recorded, so nothing after it has started
        entry = CheckpointEntry(path=path, order=replay.history.next_order, started=replay.time, ended=replay.time)
        replay.note(entry)
    branch.passed(path, entry.ended)
