"""The history as people read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, cast

import msgspec

from durable import codec
from durable.engine.entries import (
    AnyValued,
    LoopEntry,
    Operation,
    QueueEntry,
    RollbackEntry,
    SleepEntry,
    StepEntry,
    VersionEntry,
    WaitEntry,
)
from durable.engine.history import History
from durable.engine.recorded import Attempted, EntryStatus
from durable.errors import ErrorInfo, StoreError
from durable.protocol.head import ENDING, Head, Status
from durable.usercode.durations import moment_of

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
Fetch = Callable[[str], bytes]  # finds a value that is stored elsewhere, by its reference


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
    """How the rollback went. It is separate from the status: an execution is `failed` however its rollback went."""

    outcome: OutcomeWord
    error: ErrorInfo | None = None
    """Of the first rollback that failed."""
    not_run: Sequence[str] = field(default_factory=list)
    """Paths of the steps whose rollbacks did not run, because the chain was halted or terminated; in chain order."""
    failed: Mapping[str, ErrorInfo] = field(default_factory=dict)
    """Every rollback that failed, by the path of its step."""


def recorded_value(entry: AnyValued, fetch: Fetch, annotation: Any = Any) -> Any:
    """Return the value of an entry, wherever it is stored; raises CodecError."""
    stored = fetch(entry.kept) if entry.kept else entry.stored
    return codec.decode(stored, annotation) if stored else None


def shown(history: History, fetch: Fetch) -> list[HistoryEntry]:
    """Return every operation by start, then every rollback in the order in which it ran."""
    operations = history.operations
    latest = max((entry.order for entry in operations), default=0) + (history.output is not None)
    done = [_operation(entry, fetch, passed=entry.order < latest) for entry in operations]
    return [*done, *map(_rollback, history.rollbacks.values())]


def rollback_outcome(head: Head, history: History) -> RollbackOutcome:
    """Return what became of the rollback."""
    errors = {
        entry.path: entry.error.info()
        for entry in history.rollbacks.values()
        if entry.failure is not None and entry.error is not None
    }
    error = next(iter(errors.values()), None)
    failed = {path: error for path, error in errors.items() if path}  # the others are of the rollback as a whole
    if head.status in (Status.FAILING, Status.CANCELLING, Status.ROLLING_BACK):
        return RollbackOutcome("running", error, [], failed)
    # One that was terminated may have been about to roll back, with nothing of it recorded yet.
    was_due = head.status is Status.TERMINATED and (history.cause is not None or head.undoing > 0)
    left = _left(history)
    if not history.rollbacks and history.chain is None and not (was_due and left):
        return RollbackOutcome("none")
    if head.status is Status.DIVERGED:
        return RollbackOutcome("running", error, [], failed)
    return RollbackOutcome("failed" if errors or left else "completed", error, left, failed)


def failure_of(head: Head, history: History) -> ErrorInfo | None:
    """Return why an execution failed, was cancelled, or diverged; None when it did not."""
    if head.status is Status.DIVERGED:
        return None if history.divergence is None else history.divergence.error.info()
    # One that was terminated during its rollback has a cause too.
    ends = head.status in (*ENDING, Status.FAILED, Status.CANCELLED, Status.TERMINATED)
    return history.cause.error.info() if ends and history.cause is not None else None


def _left(history: History) -> list[str]:
    """Return the steps whose rollbacks have not ended: of the recorded chain, or of all if none was recorded."""
    chain = history.chain
    paths = [entry.path for entry in history.undoable_steps()] if chain is None else chain.paths
    return [path for path in paths if path not in history.rollbacks or not history.rollbacks[path].settled]


def _operation(entry: Operation, fetch: Fetch, *, passed: bool) -> HistoryEntry:
    status = (
        entry.status if isinstance(entry, (Attempted, SleepEntry, QueueEntry, LoopEntry)) else EntryStatus.COMPLETED
    )
    ended = entry.ended
    if isinstance(entry, SleepEntry) and passed and status is EntryStatus.WAITING:
        status, ended = EntryStatus.COMPLETED, entry.until  # what comes after it shows that it is over
    error = entry.error if isinstance(entry, (StepEntry, WaitEntry)) else None
    return HistoryEntry(
        path=entry.path,
        kind=cast("KindWord", str(entry.kind)),
        status=cast("StatusWord", str(status)),
        attempts=_attempts(entry),
        output=_output(entry, fetch),
        error=error.info() if error is not None else None,
        started_at=moment_of(entry.started),
        ended_at=moment_of(ended) if ended else None,
    )


def _rollback(entry: RollbackEntry) -> HistoryEntry:
    return HistoryEntry(
        path=entry.path,
        kind="rollback",
        status=cast("StatusWord", str(entry.status)),
        attempts=entry.charged,
        output=None,
        error=entry.error.info() if entry.error is not None else None,
        started_at=moment_of(entry.started),
        ended_at=moment_of(entry.ended) if entry.ended else None,
    )


def _attempts(entry: Operation) -> int:
    """Return the attempts of a step, or the iterations of a loop."""
    match entry:
        case StepEntry():
            return entry.charged
        case LoopEntry():
            return entry.iterations
        case _:
            return 0


def _output(entry: Operation, fetch: Fetch) -> Any:
    """Return the recorded value without its type: whoever reads a history may not have the code."""
    match entry:
        case StepEntry(sensitive=True) if entry.has_value:
            return REDACTED
        case StepEntry() | LoopEntry():
            try:
                return recorded_value(entry, fetch)
            except StoreError:
                raise
            except Exception as error:  # shown in place of the value, so that the rest can be read
                return f"[{error}]"
        case QueueEntry() if entry.settled:
            return codec.decode(codec.TAGGED + msgspec.json.encode(entry.messages))
        case VersionEntry():
            return entry.chosen
        case _:
            return None
