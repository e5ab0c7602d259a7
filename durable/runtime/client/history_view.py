"""The history as people read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

from durable.engine.entries import Entry, EntryKind, EntryStatus
from durable.engine.history import History
from durable.errors import CodecError, ErrorInfo
from durable.protocol.head import Head, Status

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
REDACTED = "[redacted]"  # what is shown of the output of a sensitive step (S15)

KindWord = Literal[
    "step",
    "sleep",
    "queue",
    "reply",
    "loop",
    "join",
    "map",
    "race",
    "child",
    "wait_for",
    "version",
    "removed",
    "checkpoint",
    "rollback",
]
StatusWord = Literal["completed", "failed", "retrying", "waiting", "unfinished"]
OutcomeWord = Literal["none", "running", "completed", "failed"]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One operation of an execution, or one rollback."""

    path: str
    kind: KindWord
    status: StatusWord
    attempts: int
    output: Any
    error: ErrorInfo | None
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class RollbackOutcome:
    """How the rollback went: its own field, beside the status (E1)."""

    outcome: OutcomeWord
    error: ErrorInfo | None = None
    not_run: list[str] = field(default_factory=list)  # paths of the rollbacks that a halted chain left (R10)


def moment(milliseconds: int) -> datetime:
    """A time as people read it."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def shown(history: History) -> list[HistoryEntry]:
    """Every operation by start, then every rollback in the order in which it ran."""
    operations = sorted(history.operations.values(), key=lambda entry: entry.order)
    latest = max((entry.order for entry in operations), default=0) + (history.output is not None)
    done = [_entry(history, entry, passed=entry.order < latest) for entry in operations]
    return [*done, *(_entry(history, entry) for entry in history.rollbacks.values())]


def rollback_outcome(head: Head, history: History) -> RollbackOutcome:
    """What became of the rollback."""
    if head.status in (Status.FAILING, Status.CANCELLING, Status.ROLLING_BACK):
        return RollbackOutcome("running")
    if not history.rollbacks:
        return RollbackOutcome("none")
    if head.status is Status.DIVERGED:
        return RollbackOutcome("running")
    failed = next((entry for entry in history.rollbacks.values() if entry.failure is not None), None)
    left = list(_left(history))
    if failed is None and not left:
        return RollbackOutcome("completed")
    error = failed.error.info() if failed is not None and failed.error is not None else None
    return RollbackOutcome("failed", error, left)


def _left(history: History) -> Iterator[str]:
    for entry in history.undoable_steps():
        if entry.path not in history.rollbacks or not history.rollbacks[entry.path].settled:
            yield entry.path


def _entry(history: History, entry: Entry, *, passed: bool = False) -> HistoryEntry:
    status, ended = entry.status, entry.ended
    if entry.kind is EntryKind.SLEEP and passed and status is EntryStatus.WAITING:
        status, ended = EntryStatus.COMPLETED, entry.until  # what comes after it shows that it is over
    return HistoryEntry(
        path=entry.path,
        kind=cast("KindWord", str(entry.kind)),
        status=cast("StatusWord", str(status)),
        attempts=entry.charged,
        output=REDACTED if entry.sensitive and entry.has_value else _value(history, entry),
        error=entry.error.info() if entry.error is not None else None,
        started_at=moment(entry.started),
        ended_at=moment(ended) if ended else None,
    )


def _value(history: History, entry: Entry) -> Any:
    """The recorded value without its type: whoever reads a history may not have the code."""
    try:
        return history.value(entry)
    except CodecError as error:
        return f"[{error}]"
