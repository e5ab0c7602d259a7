"""The entries that attempts and ends leave. The same for steps and rollbacks."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from durable.engine.entries import CauseEntry, DivergenceEntry, RollbackEntry, StepEntry, with_value
from durable.engine.recorded import EntryStatus, ErrorRecord
from durable.errors import ErrorInfo, HistoryDiverged
from durable.protocol.head import Head
from durable.runtime.events import StepEnded
from durable.runtime.invocation.attempt import Completed, FailedForGood, Outcome, Retrying
from durable.usercode.durations import later
from durable.usercode.failures import described

E = TypeVar("E", StepEntry, RollbackEntry)

CANCELLED = ErrorInfo("Cancelled", "the execution was cancelled")
CRASHED = ErrorInfo("ProcessCrashed", "every attempt took its process with it: it ran out of memory or time, or exited")


def number_of(entry: StepEntry | RollbackEntry) -> int:
    """Return the number of the attempt that starts now, from 1; its mark, if it has one, is already counted."""
    return entry.attempts + max(entry.marks, 1)


def marked(entry: E, now: int, *, crashed: bool) -> E:
    """Return the entry before a body whose crash is to be charged (protocol rule 10)."""
    return replace(
        entry,
        status=EntryStatus.UNFINISHED,
        marks=entry.marks + 1,
        started=entry.started or now,
        until=0,
        crashed=crashed,
    )


def after(entry: E, result: Outcome, started: int, now: int) -> E:
    """Return the entry after an attempt whose outcome is known: its marks become attempts."""
    known = replace(
        entry, attempts=number_of(entry), marks=0, until=0, started=entry.started or started, ended=now, error=None
    )
    match result:
        case Completed(value=value):
            completed = replace(known, status=EntryStatus.COMPLETED)
            return with_value(completed, value) if isinstance(completed, StepEntry) and value else completed
        case FailedForGood(kind=kind, error=error):
            return replace(known, status=EntryStatus.FAILED, failure=kind, error=ErrorRecord.of(error))
        case Retrying(error=error, wait=wait):
            until = later(now, wait)
            return replace(known, status=EntryStatus.RETRYING, error=ErrorRecord.of(error), until=until, ended=0)


def exhausted(entry: E, now: int) -> E:
    """Return the entry of a body whose attempts were used up by crashes (S4)."""
    error = ErrorRecord.of(CRASHED)
    return replace(entry, status=EntryStatus.FAILED, failure="exhausted", error=error, ended=now, until=0)


def cause(error: ErrorInfo, now: int, *, cancelled: bool = False) -> CauseEntry:
    """Return the entry that says why an execution ends."""
    return CauseEntry(error=ErrorRecord.of(error), started=now, ended=now, cancelled=cancelled)


def cancellation(now: int) -> CauseEntry:
    """Return the cause of an execution that was cancelled."""
    return cause(CANCELLED, now, cancelled=True)


def divergence(error: HistoryDiverged, now: int) -> DivergenceEntry:
    """Return the entry that says where the code does not match the history."""
    return DivergenceEntry(error=ErrorRecord.of(described(error)), started=now, ended=now)


def event(head: Head, entry: StepEntry | RollbackEntry, number: int, length: float) -> StepEnded:
    """Return what an observer is notified of after an attempt."""
    return StepEnded(
        execution_id=head.execution_id,
        workflow=head.workflow,
        path=entry.path,
        rollback=isinstance(entry, RollbackEntry),
        attempt=number,
        seconds=length,
        outcome=str(entry.status),
        error=entry.error.info() if entry.error is not None else None,
    )
