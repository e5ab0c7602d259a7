"""One replay: the workflow's code against its history.

Pure: it has the entries and the time that it was given, and asks its Driver for everything that has an effect. What each
operation does stands in `durable.engine.operations`, one a file; this is what they share.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NoReturn, Protocol

from msgspec import Struct

from durable.api.calls import StepCall
from durable.api.messages import Sent
from durable.engine import paths
from durable.engine.entries import Entry, EntryKind
from durable.engine.history import History
from durable.engine.interrupts import Diverged, Interrupt, Suspended
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

    def note(self, entry: Entry, *, first: bool = False) -> None:
        """Record an entry along with the next checkpoint; `first`: before any later body runs (protocol rule 6)."""

    def park(self, until: int, entry: Entry | None = None) -> NoReturn:
        """Record the entry, if any, and suspend until then."""

    def messages(self, queues: Sequence[str] | None, count: int) -> Sequence[Sent]:
        """The oldest messages that wait in these queues, or in any; at most `count`. They are taken when recorded."""

    def reply(self, message: Sent, response: bytes) -> None:
        """Let the sender of a message have the response; twice is once."""

    def checked(self, stored: bytes, what: str) -> bytes:
        """The value; raises CodecError that names it when it is too large to be kept (S13)."""

    def drifted(self, path: str) -> None:
        """The arguments of a recorded step differ from those of its first run (D6)."""


class Undoable(Struct, frozen=True):
    """A step that has a rollback and has started, as a replay found it."""

    call: StepCall
    entry: Entry | None  # None: the frontier, which may have started and left no record
    order: int


class Scope(Struct):
    """A stretch of code with its own names: the root, a block, an iteration; and the thread that it was given to."""

    path: str
    counts: dict[str, int]
    open: bool = True
    inside: Scope | None = None  # the scope in it where the code is now

    def name(self, name: str) -> str:
        """The path of the next operation of this name (D5)."""
        segment = paths.segment(name)
        count = self.counts.get(segment, 0) + 1
        self.counts[segment] = count
        last = paths.counted(segment, count)
        return f"{self.path}{paths.SEPARATOR}{last}" if self.path else last

    @property
    def innermost(self) -> Scope:
        """The scope where the code is now: this one, or one inside it."""
        return self if self.inside is None else self.inside.innermost

    @contextmanager
    def within(self, path: str) -> Iterator[Scope]:
        """A scope inside this one, which rests meanwhile: what would be named in it belongs to neither (D11)."""
        self.inside = inner = Scope(path, {})
        try:
            yield inner
        finally:
            inner.open = False
            self.inside = None


class Replay:
    """The state of one replay: where the code is in its history."""

    __slots__ = (
        "_thread",
        "_visited",
        "clock",
        "drift",
        "driver",
        "execution_id",
        "history",
        "in_body",
        "last",
        "left",
        "now",
        "undoables",
        "undoing",
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
        self.driver = driver
        self.now = now  # the time of the claim: all waits of one invocation are judged by it
        self.undoing = undoing  # nothing runs; the rollbacks are collected
        self.drift: Drift = drift
        self.clock = created  # what ctx.now() tells: derived from what is recorded (D10)
        self.last = ""  # the operation that the code has passed last
        self.left: Interrupt | None = None  # why the code was left, the first time: it does not come back
        self.in_body = ""  # the step whose body is running
        self.undoables: list[Undoable] = []
        self._thread = threading.get_ident()
        self._visited: set[str] = set()  # recorded operations that the code has asked for

    @property
    def behind(self) -> bool:
        """Whether the history has something that the code has not asked for yet."""
        return len(self._visited) < len(self.history.operations)  # what is visited and forgotten is taken out of both

    @property
    def live(self) -> bool:
        """Whether the code has left its history behind (D12)."""
        return not self.undoing and not self.behind

    # --- what every operation does ---------------------------------------------------------------------------------

    def enter(self, scope: Scope) -> None:
        """Refuse what may not happen here and now (D8, D11)."""
        self.reach(scope)
        if scope.inside is not None:
            raise WrongThread(
                f"the context of '{scope.path or 'the workflow'}' was used inside '{scope.innermost.path}', which has a context "
                "of its own: use the context that is passed to the function you are in"
            )

    def reach(self, scope: Scope) -> None:
        """The same for what belongs to an operation of the scope, and may be used in a scope inside it too."""
        if threading.get_ident() != self._thread:
            self._refuse_thread()
        if not scope.open:
            raise WrongThread(
                f"the context of '{scope.path or 'the workflow'}' was used after its scope had ended: use the context that "
                "is passed to the function you are in"
            )
        if self.left is not None:
            raise self.left

    def visit(self, path: str, kind: EntryKind) -> Entry | None:
        """The recorded entry of an operation; nothing new may come before what is recorded (D6)."""
        entry = self.history.operations.get(path)
        if entry is None:
            if self.behind:
                self.diverge(f"a new {kind} '{path}'")
            return None
        if entry.kind is not kind:
            self.leave(Diverged(HistoryDiverged(path, f"a {entry.kind}", f"a {kind}")))
        self._visited.add(path)
        return entry

    def has_visited(self, path: str) -> bool:
        """Whether the code has asked for this recorded operation."""
        return path in self._visited

    def unvisited(self) -> list[str]:
        """What the history has and the code has not asked for yet."""
        return [path for path in self.history.operations if path not in self._visited]

    def pass_over(self, scope: str, before: int | None = None) -> None:
        """What a scope recorded counts as asked for; `before`: what it recorded in earlier iterations."""
        for path in self.unvisited():
            place = self.history.operations[path].place
            number = paths.iteration_of(place, scope)
            if paths.within(place, scope) if before is None else number is not None and number < before:
                self._visited.add(path)

    def note(self, entry: Entry, *, first: bool = False) -> None:
        """Record an entry with the next checkpoint."""
        with self.asking():
            self.driver.note(entry, first=first)
        self._visited.add(entry.path)
        if entry.kind is EntryKind.LOOP:
            self._visited &= self.history.operations.keys()

    def seen(self, path: str) -> None:
        """An operation that was recorded just now has been asked for."""
        self._visited.add(path)

    def park(self, until: int, entry: Entry | None = None) -> NoReturn:
        """Suspend until then, and record the entry; a replay that runs nothing just stops here."""
        if self.undoing:
            self.suspend()
        with self.asking():
            self.driver.park(until, entry)

    def suspend(self) -> NoReturn:
        """Leave the user's code; it will not come back in this replay."""
        self.leave(Suspended())

    def leave(self, why: Interrupt) -> NoReturn:
        """Leave the user's code. Should it catch that, the next operation raises it again (D8, D9)."""
        if self.left is None:
            self.left = why
        raise why

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around what is asked of the driver: an interrupt that leaves it is kept."""
        try:
            yield
        except Interrupt as why:
            self.leave(why)

    def passed(self, path: str, moment: int) -> None:
        """The code goes on after an operation that ended at this moment."""
        self.last = path
        if moment > self.clock:
            self.clock = moment

    def finish(self) -> None:
        """Check at the end of the workflow that nothing recorded was left out (D6)."""
        if self.behind:
            self.diverge("the end of the workflow")

    def diverge(self, requested: str) -> NoReturn:
        """The code asks for something else than the first recorded operation that it has not asked for."""
        left = (entry for path, entry in self.history.operations.items() if path not in self._visited)
        missing = min(left, key=lambda entry: entry.order)
        self.leave(Diverged(HistoryDiverged(missing.path, f"a {missing.kind} '{missing.path}'", requested)))

    def _refuse_thread(self) -> NoReturn:
        if self.in_body:
            raise NestedStep(
                f"a durable operation was called inside the body of step '{self.in_body}': a step can't hold another. "
                "Call it from the workflow function, or call the plain function instead."
            )
        raise WrongThread(
            "a context was used from another thread than the workflow's: pass values to threads, not the context."
        )
