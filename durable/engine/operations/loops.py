"""A loop whose history stays bounded: past iterations are forgotten (L1 to L5, R15).

The loop's entry says from which iteration a replay starts, and with which state. It moves forward every `prune_every`
iterations and at the end, but never past an iteration whose rollbacks a failure would still run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from durable import codec
from durable.api.outcomes import Break, Continue
from durable.engine.entries import NOTHING, Entry, EntryKind, EntryStatus, with_value
from durable.engine.paths import iteration, within
from durable.engine.replay import Replay, Scope
from durable.errors import InvalidCall

STATELESS = object()


class Start(Struct):
    """Where an iteration began."""

    number: int
    clock: int
    state: bytes = b""  # empty for a loop without state …
    kept: str = ""  # … or with one that is kept elsewhere, under this reference


class LoopCall(Struct, frozen=True):
    """A loop as the code asks for it."""

    name: str
    run: Callable[..., Continue[Any] | Break[Any] | None]  # takes the iteration's scope, and the state if there is one
    state: Any
    prune_every: int
    keep: int


def check(name: str, body: object, prune_every: int, keep: int) -> None:
    """Refuse a loop that can't be; raises InvalidCall."""
    if not callable(body):
        raise InvalidCall(f"loop '{name}': the body is not callable: {body!r}. Pass the function itself.")
    if not isinstance(prune_every, int) or prune_every < 1:
        raise InvalidCall(f"loop '{name}': prune_every is a whole number from 1, not {prune_every!r}")
    if not isinstance(keep, int) or keep < 0:
        raise InvalidCall(f"loop '{name}': keep is a whole number from 0, not {keep!r}")


def loop(replay: Replay, scope: Scope, call: LoopCall) -> Any:
    """What the body breaks with."""
    replay.enter(scope)
    path = scope.name(call.name)
    entry = replay.history.operations.get(path)
    if entry is not None:
        replay.visit(path, EntryKind.LOOP)
    if entry is not None and entry.status is EntryStatus.COMPLETED and not (replay.undoing and entry.undoable):
        replay.pass_over(path)
        replay.passed(path, entry.ended)
        return replay.history.value(entry)
    return _Loop(replay, scope, path, call, entry).run()


class _Loop:
    """One loop under replay."""

    def __init__(self, replay: Replay, scope: Scope, path: str, call: LoopCall, entry: Entry | None) -> None:
        self._replay = replay
        self._scope = scope
        self._path = path
        self._call = call
        self._entry = entry
        self._order = replay.history.next_order if entry is None else entry.order
        first = self._start(0, call.state) if entry is None else _started(entry)
        self._starts = [first]  # of the iterations that a replay would run again

    def run(self) -> Any:
        replay = self._replay
        replay.pass_over(self._path, before=self._starts[0].number)
        while True:
            start = self._starts[-1]
            replay.last = iteration(self._path, start.number)
            replay.clock = max(replay.clock, start.clock)
            result = self._iterate(start)
            self._check_reached(start)
            match result:
                case Break(value):
                    return self._end(start, value)
                case Continue(state) if self._call.state is not STATELESS:
                    following = state
                case None | Continue(None) if self._call.state is STATELESS:
                    following = STATELESS
                case Continue():
                    raise InvalidCall(
                        f"loop '{self._path}' has no state, and its body returned Continue with one: "
                        "give the loop the first one, state=..., or return Continue()"
                    )
                case None:
                    raise InvalidCall(
                        f"loop '{self._path}' has a state, and its body returned None: return Continue(state) or Break(value)"
                    )
                case other:
                    raise InvalidCall(
                        f"the body of loop '{self._path}' returned {type(other).__name__}: "
                        "return Continue(state), Break(value), or, in a loop without state, None"
                    )
            self._starts.append(self._start(start.number + 1, following))
            if (start.number + 1) % self._call.prune_every == 0 and replay.live:
                self._prune()

    def _iterate(self, start: Start) -> Continue[Any] | Break[Any] | None:
        with self._scope.within(iteration(self._path, start.number)) as inner:
            if self._call.state is STATELESS:
                return self._call.run(inner)
            stored = self._replay.history.fetch(start.kept) if start.kept else start.state
            return self._call.run(inner, codec.decode(stored))

    def _check_reached(self, start: Start) -> None:
        """Nothing that an iteration has recorded may be left out at its end: it could be forgotten unseen (D6)."""
        scope = iteration(self._path, start.number)
        recorded = self._replay.history.operations
        if self._replay.behind and any(within(recorded[left].place, scope) for left in self._replay.unvisited()):
            self._replay.diverge(f"the end of '{scope}'")

    def _start(self, number: int, state: Any) -> Start:
        """The state goes through storage at once: an iteration sees what a replay of it would see (D3)."""
        if state is STATELESS:
            return Start(number, self._replay.clock)
        stored = self._replay.driver.checked(codec.encode(state), f"the state of loop '{self._path}'")
        return Start(number, self._replay.clock, stored)

    def _prune(self) -> None:
        """Forget what no replay needs."""
        self._advance()
        self._replay.note(self._written(EntryStatus.WAITING))

    def _advance(self) -> None:
        """Move the start of a replay forward, past every iteration whose rollbacks are settled business (R15)."""
        history = self._replay.history
        while len(self._starts) > 1 and not history.undoable_steps(iteration(self._path, self._starts[0].number)):
            del self._starts[0]

    def _end(self, start: Start, value: Any) -> Any:
        replay = self._replay
        if self._entry is not None and self._entry.status is EntryStatus.COMPLETED:
            replay.passed(self._path, self._entry.ended)
            return replay.history.value(self._entry)  # a rollback looked into it
        stored = replay.driver.checked(codec.encode(value), f"what loop '{self._path}' breaks with")
        if not replay.undoing:
            self._starts.append(Start(start.number + 1, replay.clock))
            self._advance()
            replay.note(with_value(self._written(EntryStatus.COMPLETED), stored))
        replay.passed(self._path, replay.clock)
        return codec.decode(stored)

    def _written(self, status: EntryStatus) -> Entry:
        replay = self._replay
        start, latest = self._starts[0], self._starts[-1]
        kept_from = max(0, min(start.number, latest.number - self._call.keep))
        now = replay.driver.now()
        return Entry(
            path=self._path,
            kind=EntryKind.LOOP,
            status=status,
            order=self._order,
            started=self._entry.started if self._entry is not None else now,
            ended=replay.clock if status is EntryStatus.COMPLETED else 0,
            until=start.clock,
            attempts=latest.number,
            number=start.number,
            kept_from=kept_from,
            memo=msgspec.Raw(start.state[1:]) if start.state else NOTHING,
            memo_kept=start.kept,
            boundary=replay.history.boundary,
            latest=replay.history.next_order - 1,
            undoable=start.number < latest.number,
        )


def _started(entry: Entry) -> Start:
    state = codec.TAGGED + bytes(entry.memo) if entry.memo else b""
    return Start(entry.number, entry.until, state, entry.memo_kept)
