"""A sleep: its deadline is fixed at the first call (Q4)."""

from __future__ import annotations

from collections.abc import Callable

from durable.engine import decisions
from durable.engine.decisions import Decision
from durable.engine.entries import Entry, EntryKind, EntryStatus
from durable.engine.replay import Replay, Scope


def sleep(replay: Replay, scope: Scope, name: str, deadline: Callable[[int], int]) -> None:
    """Return when the sleep is over; `deadline` turns the time of the first call into its end."""
    replay.enter(scope)
    path = scope.name(name)
    called = replay.driver.now()
    wanted = deadline(called)  # refuses what can't be, before the history is asked
    entry = replay.visit(path, EntryKind.SLEEP)
    until = entry.until if entry is not None else wanted
    now = called if until == called else replay.now  # nothing to wait for, whenever that is asked
    decision = decisions.for_sleep(entry, now, until, passed=replay.behind)
    if decision is Decision.WAIT:
        replay.park(until, None if entry is not None else _entry(replay, path, until, EntryStatus.WAITING))
    if entry is None and not replay.undoing:
        replay.note(_entry(replay, path, until, EntryStatus.COMPLETED))
    replay.passed(path, until)


def _entry(replay: Replay, path: str, until: int, status: EntryStatus) -> Entry:
    return Entry(
        path=path,
        kind=EntryKind.SLEEP,
        status=status,
        order=replay.history.next_order,
        started=replay.driver.now(),
        ended=until if status is EntryStatus.COMPLETED else 0,
        until=until,
    )
