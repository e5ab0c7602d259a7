"""What is rolled back: the started steps that have a rollback, found by replaying the workflow's code (R4, R5).

The functions are not stored. The code is replayed against its history, hands over each step's rollback with its arguments,
and stops where the history stops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from durable.api.calls import StepCall
from durable.api.context import Context
from durable.api.log import ExecutionLog
from durable.api.messages import Sent
from durable.api.workflow import Workflow
from durable.engine.entries import Entry
from durable.engine.history import History
from durable.engine.interrupts import Diverged, Interrupt, Suspended
from durable.engine.replay import Drift, Replay, Scope, Undoable
from durable.errors import HistoryDiverged
from durable.protocol.head import Status
from durable.runtime.storage.lease import Lease

KEEP_IT = (
    "Rollbacks are not stored: put the step and its rollback back, behind ctx.version for new executions to do without, "
    "until none that ran it is under way; then resume this one. Or cancel it without its rollback."
)


def undoables(claimed: Lease, workflow: Workflow[Any, Any, Any], drift: Drift) -> list[Undoable]:
    """The steps to roll back, latest start first; raises Diverged when the code does not match the history (R16)."""
    head, history = claimed.head, claimed.history
    if head.skip_rollback:
        return []
    replay = _replayed(claimed, workflow, drift)
    found = {undoable.call.path for undoable in replay.undoables}
    for entry in history.undoable_steps():
        if entry.path not in found and not _rolled_back(history, entry):
            recorded = f"a step '{entry.path}' with a rollback"
            raise Diverged(HistoryDiverged(entry.path, recorded, "no such step, or no rollback for it", KEEP_IT))
    may_have_started = head.claims > 0 and head.status is not Status.ROLLING_BACK
    started = [
        undoable
        for undoable in replay.undoables
        if undoable.order > history.boundary and (has_started(undoable.entry) or may_have_started)
    ]
    return sorted(started, key=lambda undoable: undoable.order, reverse=True)


def _rolled_back(history: History, entry: Entry) -> bool:
    """Whether nothing more will be asked of the step's rollback."""
    rollback = history.rollbacks.get(entry.path)
    return rollback is not None and rollback.settled


def has_started(entry: Entry | None) -> bool:
    """Whether a step is recorded as more than reached."""
    return entry is not None and (entry.undoable or entry.charged > 0)


def _replayed(claimed: Lease, workflow: Workflow[Any, Any, Any], drift: Drift) -> Replay:
    head, history = claimed.head, claimed.history
    now = head.claimed or head.created
    replay = Replay(
        head.execution_id,
        history,
        ReplayOnly(now, claimed.values.checked),
        now=now,
        created=head.created,
        undoing=True,
        drift=drift,
    )
    scope = Scope("", {})
    context: Context[Any] = Context(replay, scope, ExecutionLog({}, lambda: False))
    try:
        given = history.input
        workflow(context, history.value(given, workflow.input_type) if given is not None else None)
    except Suspended:
        pass
    except Interrupt:
        raise
    except (Exception, SystemExit, GeneratorExit):
        pass  # the failure that brought us here, or one that it led to
    finally:
        scope.open = False
    if replay.left is not None and not isinstance(replay.left, Suspended):  # the code caught it
        raise replay.left
    return replay


class ReplayOnly:
    """The engine's Driver of a replay that runs nothing."""

    def __init__(self, now: int, checked: Callable[[bytes, str], bytes]) -> None:
        self._now = now
        self._checked = checked

    def now(self) -> int:
        """The time of the last forward claim: what was due then was passed then (protocol rule 9)."""
        return self._now

    def perform(self, call: StepCall, recorded: Entry | None, fingerprint: str) -> Entry:
        """Nothing runs."""
        raise Suspended

    def exhaust(self, call: StepCall, recorded: Entry) -> Entry:
        """Nothing is recorded."""
        raise Suspended

    def note(self, entry: Entry, *, first: bool = False) -> None:
        """Nothing is recorded."""

    def park(self, until: int, entry: Entry | None = None) -> NoReturn:
        """The history stops here."""
        raise Suspended

    def messages(self, queues: Sequence[str] | None, count: int) -> Sequence[Sent]:
        """Nothing is taken."""
        return ()

    def reply(self, message: Sent, response: bytes) -> None:
        """Nothing is sent."""

    def checked(self, stored: bytes, what: str) -> bytes:
        """What was refused then is refused now: the code goes the way that it went."""
        return self._checked(stored, what)

    def drifted(self, path: str) -> None:
        """Arguments are compared in the forward direction."""
