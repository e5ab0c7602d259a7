"""Changed code and running executions: a version gate, and a stand-in for what was removed (D7)."""

from __future__ import annotations

from durable import codec
from durable.engine.entries import Entry, EntryKind, with_value
from durable.engine.interrupts import Diverged
from durable.engine.paths import within
from durable.engine.replay import Replay, Scope
from durable.errors import HistoryDiverged, InvalidCall

OLDEST = 1  # what an execution gets that was under way before the gate was written
KINDS = frozenset({"step", "sleep", "queue", "reply", "loop", "block", "version", "checkpoint", "wait_for"})


def version(replay: Replay, scope: Scope, name: str, latest: int) -> int:
    """The version that this execution began this part with: `latest` for a new one, 1 for one that was under way.

    Decided once in each scope, and so once in each iteration of a loop.
    """
    if not isinstance(latest, int) or isinstance(latest, bool) or latest < OLDEST:
        raise InvalidCall(f"version '{name}': latest is a whole number from 1, not {latest!r}")
    replay.enter(scope)
    path = scope.name(name)
    entry = replay.history.operations.get(path)
    if entry is not None:
        replay.visit(path, EntryKind.VERSION)
        chosen: int = entry.value(int)
        return chosen
    if replay.undoing and not replay.behind:
        replay.suspend()  # it was not recorded, so nothing after it has started
    chosen = OLDEST if replay.behind else latest
    if not replay.undoing:
        now = replay.driver.now()
        order = replay.history.next_order
        replay.note(
            with_value(
                Entry(path=path, kind=EntryKind.VERSION, order=order, started=now, ended=now), codec.encode(chosen, int)
            ),
            first=True,  # a crash must not leave it in doubt which way was taken
        )
    return chosen


def removed(replay: Replay, scope: Scope, name: str, kind: str) -> None:
    """Stand in for an operation that was deleted: an execution that recorded it goes on, a new one does without.

    Raises HistoryDiverged, as every operation, when what is recorded is of another kind.
    """
    if kind not in KINDS:
        raise InvalidCall(f"removed '{name}': kind is one of {', '.join(sorted(KINDS))}, not {kind!r}")
    replay.enter(scope)
    path = scope.name(name)
    entry = replay.history.operations.get(path)
    recorded = EntryKind.LOOP if kind == "wait_for" else kind
    if entry is not None and entry.kind != recorded:
        replay.leave(Diverged(HistoryDiverged(path, f"a {entry.kind}", f"a removed {kind}")))
    for left in replay.unvisited():
        if left == path or within(left, path) or within(replay.history.operations[left].place, path):
            replay.seen(left)
