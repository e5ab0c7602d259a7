"""Replay a recording against the code, without running or recording anything, and say where the two differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from durable.api.calls import StepCall
from durable.api.context import Context
from durable.api.log import ExecutionLog
from durable.api.messages import Sent
from durable.api.workflow import Workflow
from durable.engine.entries import Entry, EntryKind
from durable.engine.interrupts import Diverged, Suspended
from durable.engine.replay import Drift, Replay, Scope
from durable.errors import HistoryDiverged
from durable.protocol.head import Status
from durable.testing.determinism.recording import Recording


def difference(recording: Recording, workflow: Workflow[Any, Any, Any], drift: Drift) -> str | None:
    """Return what the code does that differs from what is recorded, as a sentence; None when it does the same.

    An execution that has completed must return again, one that waits must come to its wait again. One that failed, was
    cancelled or is under way may stop anywhere behind what is recorded.
    """
    head, history = recording.head, recording.history()
    if head.status is Status.DIVERGED:  # found when it ran, and recorded
        return None
    driver = _Nothing(head.claimed or head.created)
    replay = _InOrder(
        head.execution_id, history, driver, now=driver.now(), created=head.created, drift=workflow.drift or drift
    )
    scope = Scope("", {})
    context: Context[Any] = Context(replay, scope, ExecutionLog({}, lambda: False))
    raised: BaseException | None = None
    try:
        given = history.input
        workflow(context, history.value(given, workflow.input_type) if given is not None else None)
        replay.finish()
    except BaseException as error:
        raised = error
    finally:
        scope.open = False
    left = replay.left or raised
    if isinstance(left, StopIteration):  # of what a test hands out one by one, there is no more
        return None
    if isinstance(left, Diverged):
        return f"at '{left.error.path}' it has {left.error.recorded}; replayed, the code has {left.error.requested}"
    return _unlike(head.status, left, driver)


def _unlike(status: Status, left: BaseException | None, driver: _Nothing) -> str | None:
    match status:
        case Status.COMPLETED:
            was = "it returned"
            same = left is None and not driver.asked
        case Status.WAITING:
            was = "it waited"
            same = isinstance(left, Suspended) and driver.asked == _WAIT
        case _:
            return None
    if same:
        return None
    if driver.asked:
        return f"{was}; replayed, the code comes to {driver.asked}"
    return f"{was}; replayed, the code {'returns' if left is None else f'raises {type(left).__name__}: {left}'}"


_WAIT = "a wait"


class _InOrder(Replay):
    """A replay in which the steps must come in the order in which they started.

    The engine finds a step by its path, so another order of what is recorded goes unnoticed; before all of it was recorded,
    the same code would have diverged.
    """

    __slots__ = ("_latest",)

    def visit(self, path: str, kind: EntryKind) -> Entry | None:
        """Return the recorded entry; diverge where a later step was asked for before."""
        entry = super().visit(path, kind)
        if entry is not None and kind is EntryKind.STEP:
            latest: Entry = getattr(self, "_latest", entry)
            if entry.order < latest.order:
                self.leave(Diverged(HistoryDiverged(path, f"a step before '{latest.path}'", "it after that")))
            self._latest = entry
        return entry


class _Nothing:
    """The engine's driver of a replay that runs nothing: it notes what the code asks for, and stops it there."""

    def __init__(self, now: int) -> None:
        self._now = now
        self.asked = ""

    def now(self) -> int:
        """The time of the last forward claim: what was due then has passed."""
        return self._now

    def perform(self, call: StepCall, recorded: Entry | None, fingerprint: str) -> Entry:
        """Note a step that would run now."""
        self.asked = f"the step '{call.path}'"
        raise Suspended

    def exhaust(self, call: StepCall, recorded: Entry) -> Entry:
        """Note a step that would fail now."""
        self.asked = f"the failure of step '{call.path}'"
        raise Suspended

    def note(self, entry: Entry, *, first: bool = False) -> None:
        """Note an operation that has no record."""
        self.asked = self.asked or f"the {entry.kind} '{entry.path}'"

    def park(self, until: int, entry: Entry | None = None) -> NoReturn:
        """Note a wait: recorded, or new."""
        self.asked = self.asked or (_WAIT if entry is None else f"the {entry.kind} '{entry.path}'")
        raise Suspended

    def messages(self, queues: Sequence[str] | None, count: int) -> Sequence[Sent]:
        """No message has come."""
        return ()

    def reply(self, message: Sent, response: bytes) -> None:
        """Nothing is sent."""

    def checked(self, stored: bytes, what: str) -> bytes:
        """Sizes were judged when it ran."""
        return stored

    def drifted(self, path: str) -> None:
        """A workflow that only warns was warned when it ran."""
