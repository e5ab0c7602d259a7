"""What really happened, and what must never: looked at with every write to a head and at the beginning of every body."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from msgspec.structs import asdict

from durable.engine.entries import Entry, RollbackEntry, StepEntry, unpack
from durable.engine.history import History
from durable.engine.recorded import Attempted, EntryKind, EntryStatus
from durable.protocol.head import AT_REST, ENDING, Head, Status
from durable.runtime.ports import Store
from tests.model_real.actors import Actor

HOUSEKEEPING = frozenset({"due", "due_shard"})  # of an ended execution: when it is purged


REPLACED = frozenset({EntryKind.DIVERGENCE})  # an execution may diverge more than once


class Violation(AssertionError):
    """Something happened that must never."""


@dataclass
class Truth:
    """Of one execution. `begun` and `undone` are in the order of the first beginnings."""

    begun: dict[str, int] = field(default_factory=dict)  # forward bodies by path: how often each began
    undone: dict[str, int] = field(default_factory=dict)  # rollbacks likewise
    done: list[str] = field(default_factory=list)  # what clients were told has been done
    asked: list[str] = field(default_factory=list)  # what clients have begun to ask for
    late: set[str] = field(default_factory=set)  # bodies of processes that may have worked past their lease
    accidents: int = 0  # deaths and failed calls: a body that was announced may not have begun
    lost: int = 0  # answers

    def copy(self) -> Truth:
        """Return a copy that goes its own way."""
        return deepcopy(self)

    @property
    def key(self) -> object:
        """What tells two truths apart."""
        return (
            tuple(self.begun),
            tuple(self.undone),
            tuple(sorted(self.done)),
            tuple(sorted(self.asked)),
            self.accidents > 0,
            self.lost > 0,
        )


def history_of(store: Store, head: Head) -> History:
    """Return the whole history of a head, straight from the store."""
    sealed = [entry for segment in store.segments(head, 0) for entry in unpack(segment.entries)]
    return History([*sealed, *unpack(head.tail)])


def settled(history: History) -> dict[tuple[EntryKind, str], Entry]:
    """Return what is recorded for good."""
    return {(entry.kind, entry.path): entry for entry in history if entry.settled}


def step_of(history: History, path: str) -> StepEntry | None:
    """Return what is recorded of a step."""
    return next((each for each in history if isinstance(each, StepEntry) and each.path == path), None)


def rollback_of(history: History, path: str) -> RollbackEntry | None:
    """Return what is recorded of a step's rollback."""
    return next((each for each in history if isinstance(each, RollbackEntry) and each.path == path), None)


def check_write(store: Store, truth: Truth, before: Head | None, after: Head | None, was: History | None) -> None:
    """Refuse a write that changes what is settled or what has ended, or that fails a step whose body never began."""
    if before is None or after is None or before == after:
        return
    if before.terminal:
        changed = {name for name, value in asdict(after).items() if value != getattr(before, name)}
        if changed - HOUSEKEEPING:
            raise Violation(f"a {before.status} execution was written: {', '.join(sorted(changed))}")
    if before.fence > after.fence or before.revision > after.revision:
        raise Violation(f"a counter went back: {before.fence} {before.revision} to {after.fence} {after.revision}")
    if was is None or (before.tail, before.segment) == (after.tail, after.segment):
        return
    now = settled(history_of(store, after))
    for entry in now.values():
        known = entry.path in truth.begun or entry.path in truth.late
        if isinstance(entry, StepEntry) and entry.status is EntryStatus.FAILED and not known and not truth.accidents:
            raise Violation(f"step '{entry.path}' has failed, and its body never began")
    forgotten = _forgotten(history_of(store, after))
    for key, entry in settled(was).items():
        if key not in now and not any(entry.path.startswith(scope) for scope in forgotten):
            raise Violation(f"the recorded {entry.kind} '{entry.path}' is gone")
        if key in now and now[key] != entry and entry.kind not in REPLACED:
            raise Violation(f"the recorded {entry.kind} '{entry.path}' has changed: {entry} is now {now[key]}")


def _forgotten(history: History) -> list[str]:
    return [f"{entry.path}[" for entry in history if entry.kind in (EntryKind.LOOP, EntryKind.WAIT_FOR)]


def check_body(
    store: Store, head: Head, truth: Truth, actor: Actor, others: Iterable[Actor], path: str, *, rollback: bool
) -> None:
    """Refuse a body that must not run now; else take note of it."""
    what = f"the {'rollback' if rollback else 'body'} of '{path}'"
    if actor.late:  # its lease may be over: what it records is refused, and nobody can know of what it does
        truth.late.add(path)
        actor.in_body = path
        return
    for other in others:
        if other.in_body and not other.dead and not other.late:
            raise Violation(f"{what} begins while {other.name} runs '{other.in_body}'")
    history = history_of(store, head)
    entry: Attempted | None = rollback_of(history, path) if rollback else step_of(history, path)
    if entry is not None and entry.settled:
        raise Violation(f"{what} runs again, and is recorded as {entry.status}")
    if rollback:
        _check_order(history, truth, path, what)
        truth.undone[path] = truth.undone.get(path, 0) + 1
    else:
        if truth.undone:
            raise Violation(f"{what} begins in the middle of the rollback")
        truth.begun[path] = truth.begun.get(path, 0) + 1
    actor.in_body = path


def _check_order(history: History, truth: Truth, path: str, what: str) -> None:
    order = list(truth.begun)
    if path in truth.late:
        return
    if path not in order:  # it may have begun, and did not: then nothing that began is older
        if truth.undone and path not in truth.undone:
            raise Violation(f"{what} runs, which never began, after that of '{next(iter(truth.undone))}'")
        return
    if path in truth.undone:
        return
    for each in order[order.index(path) + 1 :]:
        step, rollback = step_of(history, each), rollback_of(history, each)
        if step is not None and step.undoable and (rollback is None or not rollback.settled):
            raise Violation(f"{what} runs before that of '{each}', which began later")


def check_rest(head: Head, truth: Truth, undoable: Sequence[str], store: Store, *, reachable: bool) -> None:
    """Look at an execution while nothing is under way: `reachable` says that something will bring it back."""
    if head.terminal:
        _check_end(head, truth, undoable, store)
    elif not reachable and head.status not in AT_REST:
        raise Violation(f"the execution is {head.status}, and nothing will bring it back")
    for command, statuses in EFFECTS.items():
        if command in truth.done and head.status not in statuses:
            raise Violation(f"a client was told of its {command}, and the execution is {head.status}")


_OVER = {Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.TERMINATED}
EFFECTS = {
    "cancel": {*ENDING, *_OVER, Status.DIVERGED},
    "terminate": _OVER,
}


def _check_end(head: Head, truth: Truth, undoable: Sequence[str], store: Store) -> None:
    history = history_of(store, head)
    began = [path for path in truth.begun if path in undoable and path not in truth.late]
    match head.status:
        case Status.COMPLETED:
            if truth.undone:
                raise Violation(f"completed, and rolled back: {list(truth.undone)}")
        case Status.FAILED | Status.CANCELLED if head.rollback == "" and not head.skip_rollback:
            undone = [path for path in truth.undone if path in began]
            if undone != began[::-1]:
                raise Violation(f"{head.status}: rolled back {list(truth.undone)}, and {began} began")
            doubtful = [path for path in truth.undone if path not in began and path not in truth.late]
            if len(doubtful) > (1 if truth.accidents or truth.lost else 0):
                raise Violation(f"{head.status}: rolled back {doubtful}, which never began")
            rollbacks = [each for each in history if isinstance(each, RollbackEntry)]
            left = [each.path for each in rollbacks if each.status is not EntryStatus.COMPLETED]
            if left:
                raise Violation(f"{head.status}: the rollbacks of {left} are not recorded as completed")
        case _:
            pass
