"""A step: a body that runs once, and whose result is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from durable import codec
from durable.api.calls import StepCall
from durable.codec.display import shown_values
from durable.engine import decisions
from durable.engine.branch import Branch
from durable.engine.decisions import Decision
from durable.engine.entries import StepEntry
from durable.engine.operations.guarded import guarded
from durable.engine.outcomes import Ready, Undoable
from durable.engine.recorded import EntryStatus
from durable.engine.scope import CodeScope
from durable.errors import ErrorInfo, HistoryDiverged, StepFailed
from durable.usercode.arguments import bound, copied, exhaust
from durable.usercode.freeze import freeze
from durable.usercode.signatures import check_call


class Place(NamedTuple):
    """Where the code asks for a step, and what is recorded there."""

    path: str
    leaf: str
    recorded: bool
    over: bool  # replayed as it is: nobody needs the call


def step(
    scope: CodeScope, name: str, make: Callable[[str], StepCall], arguments: Sequence[Any], annotation: Any
) -> Any:
    """Return the step's recorded result, run now or before; raises StepFailed."""
    place = _reached(scope, name)
    # The arguments are the user's objects: what they raise while they are copied is the code's own error.
    call = None
    if place.over:
        exhaust(arguments)
    elif place.recorded:
        call = _as_at_the_call(make(place.path))
    else:
        call = _checked(make(place.path))
    return _result(scope, place, call, annotation)


@guarded
def _reached(scope: CodeScope, name: str) -> Place:
    branch = scope.enter()
    path, leaf = scope.name(name)
    entry = scope.recorded.entries.get(leaf)
    over = type(entry) is StepEntry and entry.settled
    asked = branch.replay.collecting or branch.replay.drift != "off"
    return Place(path, leaf, entry is not None, over and not asked)


@guarded
def _result(scope: CodeScope, place: Place, call: StepCall | None, annotation: Any) -> Any:
    branch = scope.branch
    entry = branch.visit(scope.recorded, place.leaf, place.path, StepEntry)
    if call is not None:
        entry = _settle(branch, call, entry)
    assert entry is not None
    branch.passed(place.path, entry.ended)
    if entry.status is EntryStatus.FAILED:
        raise failed(entry)
    return branch.value(entry, annotation, f"a result of step '{place.path}'")


def failed(entry: StepEntry) -> StepFailed:
    """Return the error of a failed step: the same on the first run and on every replay (D4)."""
    error = entry.error.info() if entry.error is not None else ErrorInfo("", "")
    return StepFailed(entry.failure or "critical", entry.path, entry.charged, error)


MOST_SHOWN = 80  # characters of a step's arguments
DRIFTED = (
    "The arguments of a step are the same on every replay: take the time from ctx.now(), chance from ctx.random() and ids from "
    "ctx.uuid(), and return from a step what comes from elsewhere."
)


def _checked(call: StepCall) -> StepCall:
    """Return a call that is new to the history, if it can be; raises InvalidCall.

    This is before the history is asked: a refused call leaves no trace there, so the same replay refuses it again.
    """
    if call.rollback is not None:  # a compensation that can't be called is refused before it is needed
        check_call(call.rollback, "Undo", call.arguments, f"the rollback of step '{call.path}'")
    return _as_at_the_call(call)


def _as_at_the_call(call: StepCall) -> StepCall:
    """Return the call with its arguments and its rollback's variables as they are now (S16, D13)."""
    rollback = None if call.rollback is None else freeze(bound(call.rollback))
    return replace(call, body=bound(call.body), arguments=copied(call.arguments), rollback=rollback)


def _settle(branch: Branch, call: StepCall, entry: StepEntry | None) -> StepEntry:
    replay = branch.replay
    if entry is not None and replay.drift != "off":
        _compare(branch, call, entry)
    if replay.collecting and call.rollback is not None:
        replay.undoables.append(Undoable(call, entry, replay.history.next_order if entry is None else entry.order))
    decision = decisions.for_step(entry, replay.now, call.retry.attempts)
    if entry is not None and decision is Decision.REPLAY:
        return entry
    if entry is not None and decision is Decision.WAIT:
        branch.park(entry.until)
    reached = entry or StepEntry(
        path=call.path,
        order=replay.history.next_order,
        fingerprint=codec.fingerprint(call.arguments) or "",
        arguments="" if replay.drift == "off" else _shown(call),
        sensitive=call.sensitive,
    )
    settled: StepEntry = branch.ask(Ready(call, reached, exhausted=decision is Decision.FAIL))
    return settled


def _compare(branch: Branch, call: StepCall, entry: StepEntry) -> None:
    """Find arguments that differ from the recorded ones: they show that the code is not deterministic (D6)."""
    now = codec.fingerprint(call.arguments) if entry.fingerprint else None
    if now is None or now == entry.fingerprint:
        return
    if branch.replay.drift == "error":
        recorded = "a step called with other arguments" + (f": {entry.arguments}" if entry.arguments else "")
        branch.diverge(HistoryDiverged(call.path, recorded, f"these: {_shown(call)}", DRIFTED))
    branch.replay.drifted.append(call.path)


def _shown(call: StepCall) -> str:
    """Return the arguments as a message shows them, cut to a short length: they ride on the head."""
    return "[redacted]" if call.sensitive else shown_values(call.arguments, MOST_SHOWN)
