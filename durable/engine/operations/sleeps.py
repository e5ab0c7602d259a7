"""A sleep: its deadline is fixed at the first call (Q4)."""

from __future__ import annotations

from durable.engine import decisions
from durable.engine.branch import Branch
from durable.engine.decisions import Decision
from durable.engine.entries import SleepEntry
from durable.engine.operations.guarded import guarded
from durable.engine.recorded import EntryStatus
from durable.engine.scope import CodeScope


@guarded
def sleep(scope: CodeScope, name: str, length: int) -> None:
    """Return when a sleep of so many milliseconds is over."""
    branch = scope.enter()
    # What has no length ends at the branch's own clock: the time of day would differ from replay to replay.
    _sleep(scope, branch, name, branch.replay.time + length if length else min(branch.clock, branch.replay.now))


@guarded
def sleep_until(scope: CodeScope, name: str, moment: int) -> None:
    """Return when this moment has come."""
    _sleep(scope, scope.enter(), name, moment)


def _sleep(scope: CodeScope, branch: Branch, name: str, wanted: int) -> None:
    path, leaf = scope.name(name)
    entry = branch.visit(scope.recorded, leaf, path, SleepEntry)
    until = wanted if entry is None else entry.until
    if decisions.for_sleep(entry, branch.replay.now, until, passed=branch.behind) is Decision.WAIT:
        branch.park(until, None if entry is not None else _entry(branch, path, until, EntryStatus.WAITING))
    if entry is None:
        branch.replay.note(_entry(branch, path, until, EntryStatus.COMPLETED))
    branch.passed(path, until)


def _entry(branch: Branch, path: str, until: int, status: EntryStatus) -> SleepEntry:
    return SleepEntry(
        path=path,
        status=status,
        order=branch.replay.history.next_order,
        started=branch.replay.time,
        ended=until if status is EntryStatus.COMPLETED else 0,
        until=until,
    )
