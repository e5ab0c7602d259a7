"""Changed code and running executions: a version gate, and a stand-in for what was removed (D7)."""

from __future__ import annotations

from durable.engine.branch import Branch
from durable.engine.entries import QueueEntry, ReplyEntry, VersionEntry
from durable.engine.operations.guarded import guarded
from durable.engine.scope import CodeScope
from durable.errors import HistoryDiverged, InvalidCall

OLDEST = 1  # what an execution gets that was under way before the gate was written
KINDS = frozenset({"step", "sleep", "queue", "reply", "loop", "block", "version", "checkpoint", "wait_for"})


@guarded
def version(scope: CodeScope, name: str, latest: int) -> int:
    """Return the version that this execution began this part with: `latest` for a new one, 1 for one that was under way.

    Decided once in each scope, and so once in each iteration of a loop.
    """
    if not isinstance(latest, int) or isinstance(latest, bool) or latest < OLDEST:
        raise InvalidCall(f"version '{name}': latest is a whole number from 1, not {latest!r}")
    branch = scope.enter()
    path, leaf = scope.name(name)
    replay, recorded = branch.replay, scope.recorded
    if leaf in recorded.entries:
        entry = branch.visit(recorded, leaf, path, VersionEntry)
        assert entry is not None
        return entry.chosen
    if replay.collecting and not branch.behind:
        branch.stop()  # it was not recorded, so nothing after it has started
    chosen = OLDEST if branch.behind else latest
    recorded.asked.add(leaf)
    order = replay.history.next_order
    replay.note(VersionEntry(path=path, order=order, started=replay.time, ended=replay.time, chosen=chosen))
    return chosen


@guarded
def removed(scope: CodeScope, name: str, kind: str) -> None:
    """Stand in for an operation that was deleted: an execution that recorded it goes on, a new one does without."""
    if kind not in KINDS:
        raise InvalidCall(f"removed '{name}': kind is one of {', '.join(sorted(KINDS))}, not {kind!r}")
    branch = scope.enter()
    path, leaf = scope.name(name)
    entry = scope.recorded.entries.get(leaf)
    if entry is not None and entry.kind != kind:
        branch.diverge(HistoryDiverged(path, f"a {entry.kind}", f"a removed {kind}"))
    scope.recorded.ask(leaf)
    if path in branch.replay.history.scopes:
        branch.replay.history.scope(path).pass_over()
    if isinstance(entry, QueueEntry):
        _pass_over_replies(branch, path)


def _pass_over_replies(branch: Branch, wait: str) -> None:
    """Count the responses to the messages of a wait as asked for, wherever they were given."""
    for entry in list(branch.recorded.unasked()):
        if isinstance(entry, ReplyEntry) and entry.inside and entry.path.startswith(f"{wait}/"):
            branch.replay.history.scope(entry.inside).ask(entry.path)
