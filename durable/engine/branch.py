"""A branch of a replay: user code that runs in a greenlet, and where it is in its history.

What the history answers returns at once. For anything else the code's greenlet switches to the one that drives the
replay, with a request, and rests inside its operation until it is resumed with the answer. So nothing of the runtime is
ever raised into user code; only Suspended is, when the branch is closed.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from greenlet import getcurrent, greenlet

from durable import codec
from durable.engine.entries import Operation
from durable.engine.interrupts import Suspended
from durable.engine.outcomes import Broken, Diverged, Failed, NeedsValue, Parked
from durable.errors import DurableError, ErrorInfo, HistoryDiverged, is_failure

if TYPE_CHECKING:
    from durable.engine.entries import AnyValued
    from durable.engine.history import RecordedScope
    from durable.engine.replay import Replay

E = TypeVar("E", bound=Operation)

READABLE = (
    "Let the type read what was recorded: keep the class and its fields, and give new fields a default. Or give the "
    "changed code a new version."
)
MOST_SWALLOWED: Final = 100  # operations that code asks for after its suspension before its greenlet is abandoned
_abandoned: list[greenlet] = []  # never resumed, and never collected: that would raise into their code


class Branch:
    """User code in a greenlet of its own."""

    __slots__ = ("_greenlet", "_hub", "_swallowed", "clock", "closing", "last", "recorded", "replay")

    def __init__(self, replay: Replay, recorded: RecordedScope, clock: int) -> None:
        self.replay = replay
        self.recorded = recorded
        self.clock = clock  # what ctx.now() shows: derived from what is recorded
        self.last = ""  # the operation that the code has passed last
        self.closing = False
        self._swallowed = 0
        self._greenlet: greenlet | None = None
        self._hub: greenlet | None = None

    @property
    def behind(self) -> bool:
        """Whether the history has something that the code has not asked for yet."""
        return self.recorded.left > 0

    # --- driven from outside ---------------------------------------------------------------------------------------

    def start(self, run: Callable[[], Any]) -> Any:
        """Run the code until it asks for something, or ends; return its request, or what `run` returned."""
        self._greenlet = greenlet(run)
        self._greenlet.gr_context = contextvars.copy_context()
        return self._switched()

    def resume(self, answer: Any) -> Any:
        """Let the code go on with the answer to its request, until it asks for something else, or ends."""
        return self._switched(answer)

    def _switched(self, *answer: Any) -> Any:
        self._attach()
        request = self._code.switch(*answer)
        if isinstance(request, Broken):
            raise request.error
        return request

    def close(self) -> bool:
        """Take the code down: raise Suspended in it. Return whether the code swallowed that."""
        code = self._greenlet
        if code is None or code.dead:
            return False
        self.closing = True
        self._attach()
        ended = code.throw(Suspended())
        if not code.dead:
            _abandoned.append(code)
            return True
        return not (isinstance(ended, Failed) and isinstance(ended.error, Suspended))

    @property
    def _code(self) -> greenlet:
        assert self._greenlet is not None
        return self._greenlet

    def _attach(self) -> None:
        """Have the code return to whoever drives it now."""
        self._hub = getcurrent()
        if self._code.parent is not self._hub:
            self._code.parent = self._hub

    # --- asked by operations, in the code's greenlet ---------------------------------------------------------------

    @property
    def is_current(self) -> bool:
        """Whether the caller is the code itself, and no other thread or greenlet."""
        return getcurrent() is self._greenlet

    def check_open(self) -> None:
        """Refuse an operation after the code was suspended."""
        if self.closing:
            self._swallowed += 1
            if self._swallowed > MOST_SWALLOWED:
                self.ask(None)  # code that swallows every suspension would never end
            raise Suspended

    def ask(self, request: Any) -> Any:
        """Switch to whoever drives the replay, and return the answer."""
        assert self._hub is not None
        return self._hub.switch(request)

    def park(self, until: int, entry: Operation | None = None) -> NoReturn:
        """Wait until then; the entry is recorded with the park."""
        self.ask(Parked(until, entry))
        raise AssertionError("a parked branch is closed, not resumed")

    def stop(self) -> NoReturn:
        """Go no further: the history ends here, and nothing later can have started."""
        self.park(self.replay.now)

    def diverge(self, error: HistoryDiverged, cause: BaseException | None = None) -> NoReturn:
        """Leave the code for good: it does not match its history."""
        error.__cause__ = cause
        self.ask(Diverged(error))
        raise AssertionError("a branch that has diverged is closed, not resumed")

    def break_off(self, fault: Exception) -> NoReturn:
        """Leave the code for good: an operation of this library has failed, which is not the code's business."""
        self.ask(Broken(fault))
        raise AssertionError("a broken branch is closed, not resumed")

    def guard(self) -> Guard:
        """Keep faults of this library away from the code: for `with` around what does not call the code."""
        return Guard(self)

    def visit(self, recorded: RecordedScope, name: str, path: str, kind: type[E]) -> E | None:
        """Return the entry of the operation that the code asks for now; nothing new may come before what is recorded."""
        entry = recorded.entries.get(name)
        if entry is None:
            if self.behind:
                self.diverge(self.missing(f"a new {kind.kind} '{path}'"))
            recorded.asked.add(name)
            return None
        if type(entry) is not kind:
            self.diverge(HistoryDiverged(path, f"a {entry.kind}", f"a {kind.kind}"))
        recorded.ask(name)
        return entry

    def missing(
        self, requested: str, recorded: RecordedScope | None = None, *, cause: ErrorInfo | None = None
    ) -> HistoryDiverged:
        """Return the divergence at the first recorded operation that the code has not asked for."""
        left = (recorded or self.recorded).unasked()
        first = min(left, key=lambda entry: entry.order)
        return HistoryDiverged(first.path, f"a {first.kind} '{first.path}'", requested, cause=cause)

    def passed(self, path: str, moment: int) -> None:
        """Note that the code goes on after an operation that ended at this moment."""
        self.last = path
        if moment > self.clock:
            self.clock = moment

    def stored(self, entry: AnyValued) -> bytes:
        """Return the value of an entry as the codec wrote it, wherever it is stored."""
        return self.fetched(entry.kept) if entry.kept else entry.stored

    def fetched(self, reference: str) -> bytes:
        """Return a value that is stored elsewhere."""
        stored: bytes = self.ask(NeedsValue(reference))
        return stored

    def value(self, entry: AnyValued, annotation: Any, what: str) -> Any:
        """Return the recorded value of an entry; one that the code of today can't read is a divergence."""
        stored = self.stored(entry)
        return self.read(stored, annotation, entry.path, what) if stored else None

    def read(self, stored: bytes, annotation: Any, path: str, what: str) -> Any:
        """Decode what is recorded at a path; what the code of today can't read is a divergence."""
        try:
            return codec.decode(stored, annotation)
        except Exception as error:
            self.diverge(HistoryDiverged(path, what, f"a type that can't read it: {error}", READABLE), error)


class Guard:
    """A context manager: errors that are meant for the code pass, any other exception breaks the branch off."""

    __slots__ = ("_branch",)

    def __init__(self, branch: Branch) -> None:
        self._branch = branch

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, DurableError):
            self._branch.break_off(error)


def ending(run: Callable[[], Any]) -> Any:
    """Return what `run` returns, or Failed with whatever user code raised; the end of the process passes."""
    try:
        return run()
    except Suspended as suspension:
        return Failed(suspension)
    except BaseException as error:
        if not is_failure(error):
            raise
        return Failed(error)
