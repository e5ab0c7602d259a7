"""Replay a recording against the code, without running or recording anything, and say where the two differ."""

from __future__ import annotations

from typing import Any

from durable.api.calls import Drift
from durable.api.workflow import Workflow
from durable.engine.branch import Branch, E
from durable.engine.entries import StepEntry
from durable.engine.history import RecordedScope
from durable.engine.interrupts import ProcessEnds
from durable.engine.outcomes import Diverged, Done, Failed, NeedsMessages, NeedsValue, Parked, Ready, Replies
from durable.engine.replay import Replay, Settings
from durable.errors import HistoryDiverged
from durable.protocol.head import Head, Status
from durable.testing.determinism.recording import Recording
from durable.usercode.failures import described

Ended = Ready | Parked | Done | Failed | Diverged


def difference(recording: Recording, workflow: Workflow[Any, Any, Any], drift: Drift) -> str | None:
    """Return what the code does that differs from what is recorded, as a sentence; None when it does the same.

    An execution that has completed must return again, and one that waits must come to its wait again. One that failed, was
    cancelled or is under way may stop anywhere behind what is recorded.
    """
    head = recording.head
    history = recording.history()
    if history.divergence is not None and head.status not in (Status.COMPLETED, Status.WAITING):
        return None  # found when it ran, and recorded
    replay = _InOrder(workflow, history, _settings(head, workflow.drift or drift))
    try:
        outcome = _driven(replay, recording)
        new = [f"a new {note.entry.kind} '{note.entry.path}'" for note in replay.take_notes()]
    except ProcessEnds:  # the test has the process die in the workflow's code
        return None
    finally:
        replay.close()
    if _is_used_up(outcome):
        return None
    if isinstance(outcome, Diverged):
        found = outcome.error
        return f"at '{found.path}' it has {found.recorded}; replayed, the code has {found.requested}"
    return _unlike(head.status, outcome, new)


def _settings(head: Head, drift: Drift) -> Settings:
    now = head.claimed or head.created  # what was due then has passed
    return Settings(head.execution_id, head.created, now, {}, lambda stored, what: stored, drift)


def _driven(replay: Replay, recording: Recording) -> Ended:
    """Advance the replay to its end: a body that would run, a wait, or the end of the code."""
    while True:
        match outcome := replay.advance(replay.now):
            case NeedsValue(reference):
                replay.provide(recording.values[reference])
            case NeedsMessages():
                replay.provide(())
            case Replies():
                replay.provide(None)
            case _:
                return outcome


def _is_used_up(outcome: Ended) -> bool:
    """Whether the code asks for the next of what a test hands out one by one, and there is no more."""
    match outcome:
        case Failed(error):
            return issubclass(type(error), StopIteration)
        case Diverged(error):
            return issubclass(type(error.__cause__), StopIteration)
        case _:
            return False


def _unlike(status: Status, outcome: Ended, new: list[str]) -> str | None:
    match status, outcome:
        case Status.COMPLETED, Done() if not new:
            return None
        case Status.WAITING, Parked(entry=None) if not new:
            return None
        case Status.COMPLETED, _:
            return f"it returned; replayed, the code {_does(outcome, new)}"
        case Status.WAITING, _:
            return f"it waited; replayed, the code {_does(outcome, new)}"
        case _:
            return None


def _does(outcome: Ended, new: list[str]) -> str:
    if new:
        return f"comes to {new[0]}"
    match outcome:
        case Ready(call):
            return f"comes to the step '{call.path}'"
        case Parked(_, entry):
            return "waits" if entry is None else f"comes to a new {entry.kind} '{entry.path}'"
        case Failed(error):
            return f"raises {described(error)}"
        case _:
            return "returns"


class _InOrder(Replay):
    """A replay in which the steps must come in the order in which they started.

    The engine finds a step by its path, so another order of what is recorded goes unnoticed; had less been recorded, the
    same code would have diverged.
    """

    __slots__ = ()

    def _make_branch(self, recorded: RecordedScope, clock: int) -> Branch:
        return _OrderedBranch(self, recorded, clock)


class _OrderedBranch(Branch):
    __slots__ = ("_latest",)

    def visit(self, recorded: RecordedScope, name: str, path: str, kind: type[E]) -> E | None:
        """Return the entry of the operation; diverge at a step that started before one that the code has passed."""
        entry = super().visit(recorded, name, path, kind)
        if isinstance(entry, StepEntry):
            latest: StepEntry = getattr(self, "_latest", entry)
            if entry.order < latest.order:
                self.diverge(HistoryDiverged(path, f"a step before '{latest.path}'", "it after that"))
            self._latest = entry
        return entry
