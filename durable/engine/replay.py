"""One replay: the workflow's code against its history.

Pure: it has the entries and the time that it was given, and asks its Driver for everything that has an effect.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, Protocol

from durable.engine import codec, decisions, paths
from durable.engine.calls import StepCall
from durable.engine.decisions import Decision
from durable.engine.freeze import freeze
from durable.engine.history import Entry, EntryKind, EntryStatus, History
from durable.engine.interrupts import Diverged, Suspended
from durable.errors import HistoryDiverged, NestedStep, WrongThread

Drift = Literal["off", "warn", "error"]


class Driver(Protocol):
    """What the engine asks of the runtime. Each method may leave by an Interrupt."""

    def now(self) -> int:
        """The time, in milliseconds since the epoch."""

    def perform(self, call: StepCall, recorded: Entry | None, fingerprint: str) -> Entry:
        """Run the body until its outcome is final and recorded; returns that entry."""

    def exhaust(self, call: StepCall, recorded: Entry) -> Entry:
        """Record that the step's attempts were used up by crashes; returns the failed entry."""

    def note(self, entry: Entry) -> None:
        """Record an entry along with the next checkpoint."""

    def park(self, until: int, entry: Entry | None = None) -> NoReturn:
        """Record the entry, if any, and suspend until then."""

    def drifted(self, path: str) -> None:
        """The arguments of a recorded step differ from those of its first run (D6)."""


@dataclass(frozen=True, slots=True)
class Undoable:
    """A step that has a rollback and has started, as a replay found it."""

    call: StepCall
    entry: Entry | None  # None: the frontier, which may have started and left no record
    order: int


@dataclass(slots=True)
class Scope:
    """A stretch of code with its own names: the root, later a block, an iteration, a branch."""

    path: str
    counts: dict[str, int]

    def name(self, name: str) -> str:
        """The path of the next operation of this name (D5)."""
        segment = paths.segment(name)
        count = self.counts.get(segment, 0) + 1
        self.counts[segment] = count
        last = paths.counted(segment, count)
        return f"{self.path}{paths.SEPARATOR}{last}" if self.path else last


class Replay:
    """The state of one replay: where the code is in its history."""

    __slots__ = (
        "_drift",
        "_driver",
        "_now",
        "_thread",
        "_undoing",
        "_visited",
        "clock",
        "execution_id",
        "history",
        "in_body",
        "last",
        "suspended",
        "undoables",
    )

    def __init__(
        self,
        execution_id: str,
        history: History,
        driver: Driver,
        *,
        now: int,
        created: int,
        undoing: bool = False,
        drift: Drift = "off",
    ) -> None:
        self.execution_id = execution_id
        self.history = history
        self.clock = created  # what ctx.now() tells: derived from what is recorded (D10)
        self.last = ""  # the operation that the code has passed last
        self.suspended = False
        self.in_body = ""  # the step whose body is running
        self.undoables: list[Undoable] = []
        self._driver = driver
        self._now = now  # the time of the claim: all waits of one invocation are judged by it
        self._undoing = undoing
        self._drift: Drift = drift
        self._thread = threading.get_ident()
        self._visited: set[str] = set()  # recorded operations that the code has asked for

    @property
    def live(self) -> bool:
        """Whether the code has left its history behind (D12)."""
        return not self._undoing and not self._unvisited

    @property
    def _unvisited(self) -> bool:
        return len(self._visited) < len(self.history.operations)

    # --- operations ------------------------------------------------------------------------------------------------

    def step(self, scope: Scope, name: str, make: Callable[[str], StepCall]) -> Entry:
        """The settled entry of a step, replayed or run now; `make` is asked for the call only when it is needed."""
        self.enter()
        path = scope.name(name)
        entry = self._visit(path, EntryKind.STEP, "a step")
        if entry is None or not entry.settled or self._undoing or self._drift != "off":
            entry = self._settle(make(path), entry)
        self._pass(path, entry.ended)
        return entry

    def sleep(self, scope: Scope, name: str, deadline: Callable[[int], int]) -> None:
        """Return when the sleep is over; `deadline` is asked once, at the first call (Q4)."""
        self.enter()
        path = scope.name(name)
        entry = self._visit(path, EntryKind.SLEEP, "a sleep")
        until = entry.until if entry is not None else deadline(self._driver.now())
        decision = decisions.for_sleep(entry, self._now, until, passed=self._unvisited)
        if self._undoing and entry is None and decision is Decision.WAIT:
            self.suspend()
        if decision is Decision.WAIT:
            fresh = None if entry is not None else self._sleeping(path, until, EntryStatus.WAITING)
            self._park(until, fresh)
        if entry is None and not self._undoing:
            entry = self._sleeping(path, until, EntryStatus.COMPLETED)
            self._driver.note(entry)
            self._visited.add(path)
        self._pass(path, until)

    def finish(self) -> None:
        """Check at the end of the workflow that nothing recorded was left out (D6)."""
        if self._unvisited:
            self._diverge("the end of the workflow")

    # --- control ---------------------------------------------------------------------------------------------------

    def enter(self) -> None:
        """Refuse what may not happen here and now: a nested step, another thread, durable work after a suspension."""
        if self.suspended:
            raise Suspended
        if threading.get_ident() != self._thread:
            if self.in_body:
                raise NestedStep(
                    f"a durable operation was called inside the body of step '{self.in_body}': a step can't hold "
                    "another. Call it from the workflow function, or call the plain function instead."
                )
            raise WrongThread(
                "a context was used from another thread than the workflow's: pass values to threads, not the context."
            )

    def suspend(self) -> NoReturn:
        """Leave the user's code; it will not come back in this replay."""
        self.suspended = True
        raise Suspended

    # --- below -----------------------------------------------------------------------------------------------------

    def _visit(self, path: str, kind: EntryKind, requested: str) -> Entry | None:
        """The recorded entry of an operation; nothing new may come before what is recorded (D6)."""
        entry = self.history.operations.get(path)
        if entry is None:
            if self._unvisited:
                self._diverge(f"{requested} '{path}'")
            return None
        if entry.kind is not kind:
            raise Diverged(HistoryDiverged(path, f"a {entry.kind}", requested))
        self._visited.add(path)
        return entry

    def _settle(self, call: StepCall, entry: Entry | None) -> Entry:
        if self._undoing:
            return self._collect(call, entry)
        decision = decisions.for_step(entry, self._now, call.retry.attempts)
        if entry is not None and decision is Decision.REPLAY:
            self._compare(call, entry)
            return entry
        if entry is not None and decision is Decision.WAIT:
            self._park(entry.until)
        settled = self._perform(call, entry, decision)
        self._visited.add(call.path)
        return settled

    def _perform(self, call: StepCall, entry: Entry | None, decision: Decision) -> Entry:
        self.in_body = call.path
        try:
            if entry is not None and decision is Decision.FAIL:
                return self._driver.exhaust(call, entry)
            return self._driver.perform(call, entry, self._fingerprint(call, entry))
        except Suspended:
            self.suspended = True
            raise
        finally:
            self.in_body = ""

    def _collect(self, call: StepCall, entry: Entry | None) -> Entry:
        """In a rollback: keep the step's rollback, and stop where the history stops (R4)."""
        order = self.history.next_order if entry is None else entry.order
        if call.rollback is not None:
            self.undoables.append(Undoable(frozen_call(call), entry, order))
        if entry is None or not entry.settled:
            self.suspend()
        self._pass(call.path, entry.ended)
        return entry

    def _sleeping(self, path: str, until: int, status: EntryStatus) -> Entry:
        now = self._driver.now()
        ended = until if status is EntryStatus.COMPLETED else 0
        order = self.history.next_order
        return Entry(path=path, kind=EntryKind.SLEEP, status=status, order=order, started=now, ended=ended, until=until)

    def _park(self, until: int, entry: Entry | None = None) -> NoReturn:
        if self._undoing:
            self.suspend()
        self.suspended = True
        self._driver.park(until, entry)

    def _pass(self, path: str, moment: int) -> None:
        self.last = path
        if moment > self.clock:
            self.clock = moment

    def _fingerprint(self, call: StepCall, entry: Entry | None) -> str:
        return entry.fingerprint if entry is not None else codec.fingerprint(call.arguments) or ""

    def _compare(self, call: StepCall, entry: Entry) -> None:
        if self._drift == "off" or not entry.fingerprint:
            return
        now = codec.fingerprint(call.arguments)
        if now is None or now == entry.fingerprint:
            return
        if self._drift == "error":
            raise Diverged(
                HistoryDiverged(call.path, "a step called with other arguments", f"these: {shown(call.arguments)}")
            )
        self._driver.drifted(call.path)

    def _diverge(self, requested: str) -> NoReturn:
        missing = min(
            (entry for path, entry in self.history.operations.items() if path not in self._visited),
            key=lambda entry: entry.order,
        )
        raise Diverged(HistoryDiverged(missing.path, f"a {missing.kind} '{missing.path}'", requested))


def frozen_call(call: StepCall) -> StepCall:
    """The call with the rollback's variables as they are now (D13)."""
    from dataclasses import replace

    assert call.rollback is not None
    return replace(call, rollback=freeze(call.rollback))


def shown(arguments: Sequence[object]) -> str:
    """Arguments for a message, cut to a readable length."""
    text = ", ".join(repr(argument) for argument in arguments)
    return text if len(text) <= 200 else text[:200] + "…"
