"""A condition that is waited for: a loop of looks with a deadline, which is fixed at the first call (J7)."""

from __future__ import annotations

from typing import Any

import msgspec

from durable.api.calls import STATELESS, LoopCall, WaitCall
from durable.api.outcomes import Break
from durable.engine.entries import WaitEntry
from durable.engine.operations.loops import Iterations, Start, is_over, pass_over
from durable.engine.operations.sleeps import sleep_until
from durable.engine.operations.steps import step
from durable.engine.recorded import EntryStatus, ErrorRecord
from durable.engine.scope import CodeScope
from durable.errors import ErrorInfo, StepFailed
from durable.usercode.durations import FOREVER

TIMED_OUT = object()


def wait_for(scope: CodeScope, call: WaitCall) -> Any:
    """Return what the look found that ended the wait; raises StepFailed of kind `timeout` when its time is over."""
    branch = scope.enter()
    path, leaf = scope.name(call.name)
    with branch.guard():
        entry = branch.visit(scope.recorded, leaf, path, WaitEntry) or _begun(scope, path, call)
        if is_over(scope, entry):
            pass_over(scope, entry)
            if entry.status is EntryStatus.FAILED:
                raise _failed(entry)
            return branch.value(entry, call.annotation, f"a result of wait_for '{path}'")
        looks = Looks(scope, leaf, call, entry)
    return looks.run(lambda inner: _look(inner, call, entry.until))


def _begun(scope: CodeScope, path: str, call: WaitCall) -> WaitEntry:
    replay = scope.branch.replay
    entry = WaitEntry(
        path=path,
        order=replay.history.next_order,
        started=replay.time,
        until=FOREVER if call.timeout is None else min(FOREVER, replay.time + call.timeout),
        first_clock=scope.branch.clock,
    )
    replay.note(entry)
    return entry


def _look(inner: CodeScope, call: WaitCall, until: int) -> Break[Any] | None:
    """Look once and, unless that ends the wait, sleep until the next look: the last one is at the deadline."""
    found = step(inner, "check", call.make, call.arguments, call.annotation)
    if call.is_met(found):
        return Break(found)
    if inner.branch.clock >= until:
        return Break(TIMED_OUT)
    sleep_until(inner, "wait", min(inner.branch.replay.time + call.every, until))
    return None


def _failed(entry: WaitEntry) -> StepFailed:
    error = entry.error.info() if entry.error is not None else ErrorInfo("WaitTimedOut", "")
    return StepFailed("timeout", entry.path, 0, error)


class Looks(Iterations[WaitEntry]):
    """The looks of one wait."""

    def __init__(self, scope: CodeScope, leaf: str, call: WaitCall, entry: WaitEntry) -> None:
        every_look = LoopCall(call.name, STATELESS, lambda: None, lambda: call.annotation)
        super().__init__(scope, leaf, every_look, entry)
        self._limit = call.limit

    def _end(self, start: Start, value: Any) -> Any:
        if value is not TIMED_OUT:
            return super()._end(start, value)
        entry = self._entry
        if not entry.settled:
            message = f"'{self._call.name}' was not there within {self._limit}"
            ended = self._over(start, EntryStatus.FAILED)
            entry = msgspec.structs.replace(ended, error=ErrorRecord("WaitTimedOut", message))
            self._note(entry)
        self._branch.passed(self._path, entry.ended)
        raise _failed(entry)
