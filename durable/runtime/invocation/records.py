"""The entry that an attempt leaves. The same for steps and rollbacks."""

from __future__ import annotations

from msgspec.structs import replace

from durable.engine.entries import Entry, EntryKind, EntryStatus, ErrorRecord, with_value
from durable.errors import ErrorInfo
from durable.protocol.head import Head
from durable.runtime.invocation.attempts import Completed, FailedForGood, Result, Retrying
from durable.runtime.ports import StepEnded
from durable.usercode.failures import described

CANCELLATION = "cancel"  # the path of a cause that is no failure
CANCELLED = ErrorInfo("Cancelled", "the execution was cancelled")
CRASHED = ErrorInfo("ProcessCrashed", "every attempt took its process with it: it ran out of memory or time, or exited")


def number_of(entry: Entry) -> int:
    """The number of the attempt that starts now, from 1; its mark, if it has one, is already counted."""
    return entry.attempts + max(entry.marks, 1)


def marked(entry: Entry, now: int, *, crashed: bool) -> Entry:
    """The entry before a body whose crash is to be charged (protocol rule 10)."""
    return replace(
        entry,
        status=EntryStatus.UNFINISHED,
        marks=entry.marks + 1,
        started=entry.started or now,
        until=0,
        crashed=crashed,
    )


def after(entry: Entry, result: Result, started: int, now: int) -> Entry:
    """The entry after an attempt whose outcome is known: its marks become attempts."""
    known = replace(
        entry, attempts=number_of(entry), marks=0, until=0, started=entry.started or started, ended=now, error=None
    )
    match result:
        case Completed(value=value):
            completed = replace(known, status=EntryStatus.COMPLETED)
            return with_value(completed, value) if value else completed
        case FailedForGood(kind=kind, error=error):
            return replace(known, status=EntryStatus.FAILED, failure=kind, error=ErrorRecord.of(error))
        case Retrying(error=error, wait=wait):
            until = now + round(wait * 1000)
            return replace(known, status=EntryStatus.RETRYING, error=ErrorRecord.of(error), until=until, ended=0)


def exhausted(entry: Entry, now: int) -> Entry:
    """The entry of a step whose attempts were used up by crashes (S4)."""
    error = ErrorRecord.of(CRASHED)
    return replace(entry, status=EntryStatus.FAILED, failure="exhausted", error=error, ended=now, until=0)


def ending(kind: EntryKind, error: BaseException | ErrorInfo, now: int, path: str = "") -> Entry:
    """The entry that says why an execution ends, or where it diverged."""
    info = error if isinstance(error, ErrorInfo) else described(error)
    return Entry(path=path, kind=kind, error=ErrorRecord.of(info), started=now, ended=now)


def event(head: Head, entry: Entry, number: int, length: float) -> StepEnded:
    """What an observer is told of an attempt."""
    return StepEnded(
        execution_id=head.execution_id,
        workflow=head.workflow,
        path=entry.path,
        rollback=entry.kind is EntryKind.ROLLBACK,
        attempt=number,
        seconds=length,
        outcome=str(entry.status),
        error=entry.error.info() if entry.error is not None else None,
    )
