"""A step: a body that runs once, and whose result is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from durable import codec
from durable.api.calls import StepCall
from durable.engine import decisions
from durable.engine.decisions import Decision
from durable.engine.entries import Entry, EntryKind
from durable.engine.interrupts import Diverged
from durable.engine.replay import Replay, Scope, Undoable
from durable.errors import HistoryDiverged
from durable.usercode.freeze import freeze
from durable.usercode.signatures import check_call


def step(replay: Replay, scope: Scope, name: str, make: Callable[[str], StepCall]) -> Entry:
    """The settled entry of a step, replayed or run now; `make` is asked for the call only when it is needed."""
    replay.enter(scope)
    path = scope.name(name)
    new = None if path in replay.history.operations else _checked(make(path))
    entry = replay.visit(path, EntryKind.STEP)
    if entry is None or not entry.settled or replay.undoing or replay.drift != "off":
        entry = _settle(replay, new or make(path), entry)
    replay.passed(path, entry.ended)
    return entry


def _checked(call: StepCall) -> StepCall:
    """A call that is new to the history, if it can be; raises InvalidCall."""
    # Before the history is asked: a refused call leaves no trace there, so that the same replay refuses it again,
    # whatever was recorded after it.
    if call.rollback is not None:  # a compensation that can't be called is told before it is needed
        check_call(call.rollback, "Undo", call.arguments, f"the rollback of step '{call.path}'")
    return call


def _settle(replay: Replay, call: StepCall, entry: Entry | None) -> Entry:
    if entry is not None and replay.drift != "off":
        _compare(replay, call, entry)
    if replay.undoing:
        return _collect(replay, call, entry)
    decision = decisions.for_step(entry, replay.now, call.retry.attempts)
    if entry is not None and decision is Decision.REPLAY:
        return entry
    if entry is not None and decision is Decision.WAIT:
        replay.park(entry.until)
    settled = _perform(replay, call, entry, decision)
    replay.seen(call.path)
    return settled


def _perform(replay: Replay, call: StepCall, entry: Entry | None, decision: Decision) -> Entry:
    replay.in_body = call.path
    try:
        with replay.asking():
            if entry is not None and decision is Decision.FAIL:
                return replay.driver.exhaust(call, entry)
            fingerprint = entry.fingerprint if entry is not None else codec.fingerprint(call.arguments)
            return replay.driver.perform(call, entry, fingerprint or "")
    finally:
        replay.in_body = ""


def _collect(replay: Replay, call: StepCall, entry: Entry | None) -> Entry:
    """In a rollback: keep the step's rollback, with its variables as they are now, and stop where the history stops (R4)."""
    if call.rollback is not None:
        order = replay.history.next_order if entry is None else entry.order
        replay.undoables.append(Undoable(replace(call, rollback=freeze(call.rollback)), entry, order))
    if entry is None or not entry.settled:
        replay.suspend()
    return entry


def _compare(replay: Replay, call: StepCall, entry: Entry) -> None:
    """Arguments that differ from the recorded ones show that the code is not deterministic (D6)."""
    now = codec.fingerprint(call.arguments) if entry.fingerprint else None
    if now is None or now == entry.fingerprint:
        return
    if replay.drift == "error":
        recorded = "a step called with other arguments"
        replay.leave(Diverged(HistoryDiverged(call.path, recorded, f"these: {shown(call.arguments)}")))
    with replay.asking():
        replay.driver.drifted(call.path)


def shown(arguments: Sequence[object]) -> str:
    """Arguments for a message, cut to a readable length."""
    text = ", ".join(repr(argument) for argument in arguments)
    return text if len(text) <= 200 else text[:200] + "…"
