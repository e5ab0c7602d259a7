"""A loop whose history stays bounded: past iterations are forgotten (L1 to L5, R15).

The loop's entry says from which iteration a replay starts, and with which state. It moves forward every `prune_every`
iterations and at the end, but never past an iteration whose rollbacks a failure would still run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from durable import codec
from durable.api.calls import LoopCall
from durable.api.outcomes import Break, Continue
from durable.codec import NOTHING, TYPED
from durable.codec.display import class_name
from durable.engine.branch import Branch
from durable.engine.entries import LoopEntry, WaitEntry, with_value
from durable.engine.paths import iteration, number_of
from durable.engine.recorded import EntryStatus
from durable.engine.scope import CodeScope
from durable.errors import InvalidCall

if TYPE_CHECKING:
    from durable.engine.replay import Replay

E = TypeVar("E", LoopEntry, WaitEntry)


class Start(Struct):
    """Where an iteration began."""

    number: int
    clock: int
    state: bytes = b""  # empty for a loop without state …
    kept: str = ""  # … or with one that is stored elsewhere, under this reference


def loop(scope: CodeScope, call: LoopCall, run: Callable[..., Any]) -> Any:
    """Return what the body breaks with."""
    branch = scope.enter()
    path, leaf = scope.name(call.name)
    with branch.guard():
        entry = recorded_loop(scope, leaf, path, LoopEntry)
        if entry is not None and is_over(scope, entry):
            pass_over(scope, entry)
            return branch.value(entry, call.result_type(), f"a result of loop '{path}'")
        iterations = Iterations(scope, leaf, call, entry or LoopEntry(path=path))
    return iterations.run(run)


def recorded_loop(scope: CodeScope, leaf: str, path: str, kind: type[E]) -> E | None:
    """Return the entry of a loop. One that has none may have iterations: it is recorded when they are first dropped."""
    if leaf not in scope.recorded.entries:
        return None
    return scope.branch.visit(scope.recorded, leaf, path, kind)


def is_over(scope: CodeScope, entry: LoopEntry) -> bool:
    """Return whether a loop has ended, and nobody has to look into it: a rollback does for rollbacks inside."""
    return entry.settled and not (scope.branch.replay.collecting and entry.undoable)


def pass_over(scope: CodeScope, entry: LoopEntry) -> None:
    """Go on after a loop that has ended."""
    scope.branch.replay.history.scope(entry.path).pass_over()
    scope.branch.passed(entry.path, entry.ended)


class Iterations(Generic[E]):
    """The iterations of one loop under replay."""

    def __init__(self, scope: CodeScope, leaf: str, call: LoopCall, entry: E) -> None:
        self._scope: CodeScope = scope
        self._branch: Branch = scope.branch
        self._replay: Replay = scope.branch.replay
        self._leaf: str = leaf
        self._path: str = entry.path
        self._call: LoopCall = call
        self._state_type: Any = None if call.stateless else call.state_type()
        self._entry: E = entry
        self._began: int = entry.started or scope.branch.clock
        self._order = entry.order or self._replay.history.next_order
        first = _started(entry) if entry.order else self._start(0, call.state)
        self._starts = [first]  # of the iterations that a replay would run again

    def run(self, run: Callable[..., Any]) -> Any:
        """Run iterations until the body breaks; return its value as it is recorded."""
        branch = self._branch
        with branch.guard():
            for path, recorded in self._replay.history.scope(self._path).scopes.items():
                if number_of(path) < self._starts[0].number:
                    recorded.pass_over()
        while True:
            start = self._starts[-1]
            branch.last = iteration(self._path, start.number)
            branch.clock = max(branch.clock, start.clock)
            result = self._iterate(start, run)
            with branch.guard():
                self._check_reached(start)
                if issubclass(type(result), Break):  # isinstance would ask the user's object for its class
                    return self._end(start, result.value)
                self._starts.append(self._start(start.number + 1, self._following(result)))
                if (start.number + 1) % self._call.prune_every == 0 and self._is_live():
                    self._prune()

    def _iterate(self, start: Start, run: Callable[..., Any]) -> Any:
        path = iteration(self._path, start.number)
        if self._call.stateless:
            return self._scope.within(path, run)
        with self._branch.guard():
            stored = self._branch.fetched(start.kept) if start.kept else start.state
            state = self._branch.read(stored, self._state_type, self._path, f"a state of loop '{self._path}'")
        return self._scope.within(path, lambda inner: run(inner, state))

    def _following(self, result: Any) -> Any:
        """Return the state of the next iteration; raises InvalidCall for a result that says nothing of it."""
        continues = issubclass(type(result), Continue)
        if continues and not self._call.stateless:
            return result.state
        if self._call.stateless and (result is None or (continues and result.state is None)):
            return self._call.state
        if continues:
            raise InvalidCall(
                f"loop '{self._path}' has no state, and its body returned Continue with one: "
                "give the loop the first one, state=..., or return Continue()"
            )
        if result is None:
            raise InvalidCall(
                f"loop '{self._path}' has a state, and its body returned None: return Continue(state) or Break(value)"
            )
        raise InvalidCall(
            f"the body of loop '{self._path}' returned {class_name(result)}: "
            "return Continue(state), Break(value), or, in a loop without state, None"
        )

    def _is_live(self) -> bool:
        return not (self._replay.collecting or self._branch.behind)

    def _check_reached(self, start: Start) -> None:
        """Nothing that an iteration has recorded may be left out at its end: it could be forgotten unseen (D6)."""
        path = iteration(self._path, start.number)
        recorded = self._replay.history.scopes.get(path)
        if recorded is not None and recorded.left:
            self._branch.diverge(self._branch.missing(f"the end of '{path}'", recorded))

    def _start(self, number: int, state: Any) -> Start:
        """The state goes through storage at once: an iteration sees what a replay of it would see (D3)."""
        if self._call.stateless:
            return Start(number, self._branch.clock)
        stored = codec.encode(state, self._state_type)
        return Start(number, self._branch.clock, self._replay.check(stored, f"the state of loop '{self._path}'"))

    def _prune(self) -> None:
        """Forget what no replay needs."""
        self._advance()
        self._note(self._written(EntryStatus.WAITING))

    def _advance(self) -> None:
        """Move the start of a replay forward, past every iteration whose rollbacks no failure would run (R15)."""
        history = self._replay.history
        while len(self._starts) > 1:
            recorded = history.scopes.get(iteration(self._path, self._starts[0].number))
            if recorded is not None and recorded.latest_undoable > history.boundary:
                return
            del self._starts[0]

    def _end(self, start: Start, value: Any) -> Any:
        branch = self._branch
        if self._entry.settled:  # a rollback looked into it
            branch.passed(self._path, self._entry.ended)
            return branch.value(self._entry, self._call.result_type(), f"a result of loop '{self._path}'")
        encoded = codec.encode(value, self._call.result_type())
        stored = self._replay.check(encoded, f"what loop '{self._path}' breaks with")
        self._note(with_value(self._over(start, EntryStatus.COMPLETED), stored))
        branch.passed(self._path, branch.clock)
        return branch.read(stored, self._call.result_type(), self._path, f"a result of loop '{self._path}'")

    def _over(self, start: Start, status: EntryStatus) -> E:
        """Return the entry of the loop after its last iteration."""
        self._starts.append(Start(start.number + 1, self._branch.clock))
        self._advance()
        return self._written(status)

    def _note(self, entry: E) -> None:
        self._scope.recorded.ask(self._leaf)
        self._replay.note(entry)

    def _written(self, status: EntryStatus) -> E:
        replay, first, latest = self._replay, self._starts[0], self._starts[-1]
        return msgspec.structs.replace(
            self._entry,
            status=status,
            order=self._order,
            started=self._began,
            ended=0 if status is EntryStatus.WAITING else self._branch.clock,
            iterations=latest.number,
            first=first.number,
            first_clock=first.clock,
            kept_from=max(0, min(first.number, latest.number - self._call.keep)),
            memo=msgspec.Raw(first.state[1:]) if first.state else NOTHING,
            memo_typed=first.state[:1] == TYPED,
            memo_kept=first.kept,
            boundary=replay.history.boundary,
            latest=replay.history.next_order - 1,
        )


def _started(entry: LoopEntry) -> Start:
    return Start(entry.first, entry.first_clock, entry.state, entry.memo_kept)
