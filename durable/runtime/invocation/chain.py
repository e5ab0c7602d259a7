"""Which steps are rolled back: the started ones that have a rollback, found by replaying the workflow's code (R4, R5).

The functions are not stored. The code is replayed against its history, hands over each step's rollback with its arguments,
and stops where the history stops. The paths are recorded with the first rollback: from then on they are the set.
"""

from __future__ import annotations

from durable.engine.history import History
from durable.engine.outcomes import Diverged, Undoable
from durable.engine.replay import Replay
from durable.errors import HistoryDiverged
from durable.runtime.invocation.invocation import Invocation

GONE = (
    "Rollbacks are not stored: put the step and its rollback back, behind ctx.version for new executions to do without, "
    "until none that ran it is under way; then resume this one. Or cancel it without its rollback."
)


def rollback_chain(invocation: Invocation, replay: Replay) -> list[Undoable] | HistoryDiverged:
    """Return the steps to roll back, latest start first, or the divergence when the code does not match the history."""
    if invocation.head.skip_rollback:
        return []
    outcome = invocation.drive(replay)
    replay.close()
    if isinstance(outcome, Diverged):
        return outcome.error
    history = invocation.lease.history
    found = {undoable.call.path: undoable for undoable in replay.undoables}
    recorded = history.chain
    wanted = [entry.path for entry in history.undoable_steps()] if recorded is None else recorded.paths
    for path in wanted:
        if path not in found and not _is_over(history, path):
            return HistoryDiverged(
                path, f"a step '{path}' with a rollback", "no such step, or no rollback for it", GONE
            )
    if recorded is not None:
        return [found[path] for path in wanted if path in found]
    may_have_started = invocation.head.claims > 0  # the frontier: an invocation ended without a checkpoint
    started = [
        undoable
        for undoable in found.values()
        if undoable.order > history.boundary and (has_started(undoable) or may_have_started)
    ]
    return sorted(started, key=lambda undoable: undoable.order, reverse=True)


def has_started(undoable: Undoable) -> bool:
    """Return whether a step is recorded as more than reached."""
    return undoable.entry is not None and undoable.entry.has_started


def _is_over(history: History, path: str) -> bool:
    """Return whether nothing more will be asked of the step's rollback."""
    rollback = history.rollbacks.get(path)
    return rollback is not None and rollback.settled
