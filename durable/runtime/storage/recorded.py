"""What a checkpoint records: what happened, as far as the command that came in lets it stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from durable.engine.entries import CauseEntry, Entry, OutputEntry, RollbackEntry, StepEntry
from durable.engine.history import History
from durable.protocol import writes
from durable.protocol.checkpoint import Checkpoint
from durable.protocol.head import TERMINAL, Head, Status


def recorded(head: Head, noted: Iterable[Entry], wanted: Checkpoint) -> list[Entry]:
    """Return the entries that stand under the status as it is now; the mark of a body only if that will run."""
    status, _ = writes.settled_status(head, wanted.status)
    mark = [] if wanted.mark is None or status is not wanted.status else [wanted.mark]
    return [entry for entry in (*noted, *wanted.entries, *mark) if stands(entry, head, wanted.status)]


def stands(entry: Entry, head: Head, wanted: Status) -> bool:
    """Return whether an entry is recorded: an end is not, when a command that came in has the execution end otherwise."""
    if not isinstance(entry, (OutputEntry, CauseEntry)):
        return True
    status, resume_to = writes.settled_status(head, wanted)
    if isinstance(entry, OutputEntry):
        return status is Status.COMPLETED
    return status in (*TERMINAL, Status.FAILING, Status.ROLLING_BACK) or resume_to == Status.FAILING


def unmarked(history: History, wanted: Checkpoint, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the entry of the body that was marked among these as it is when that does not begin."""
    mark = wanted.mark
    if not isinstance(mark, StepEntry) or all(entry is not mark for entry in entries):
        return ()
    if mark.crashed:  # in an earlier claim it may have begun
        return [replace(mark, marks=mark.marks - 1)]
    before = history.operation(mark.path)
    return [before or replace(mark, marks=0, started=0, undoable=False)]


def rollback_failed(history: History, wanted: Checkpoint) -> bool:
    """Return whether the execution ends with this, and a rollback has failed for good."""
    if not wanted.rollback or wanted.status not in TERMINAL:
        return False
    rollbacks = [entry for entry in wanted.entries if isinstance(entry, RollbackEntry)]
    return any(entry.failure is not None for entry in (*history.rollbacks.values(), *rollbacks))
