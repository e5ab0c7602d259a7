"""Roll an execution back: run the rollbacks of its started steps one after the other, in reverse order of their starts."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from durable import codec
from durable.api.step import Access, Undo, UndoStatus
from durable.engine.entries import ChainEntry, RollbackEntry, StepEntry
from durable.engine.identities import forward_key
from durable.engine.outcomes import Undoable
from durable.engine.paths import leaf
from durable.engine.recorded import EntryStatus
from durable.engine.replay import Replay
from durable.errors import HistoryDiverged
from durable.protocol.checkpoint import Checkpoint, Continue, End, GiveBack, Next, Park
from durable.protocol.head import Status
from durable.runtime.invocation import records
from durable.runtime.invocation.chain import has_started, rollback_chain
from durable.runtime.invocation.invocation import Invocation
from durable.runtime.invocation.work import Backoff, Left, Settled, Task, Unread, Work


class Rollback:
    """One invocation's part of a rollback."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._lease = invocation.lease
        self._work = Work(invocation)

    def run(self) -> None:
        """Run rollbacks until the chain is done, halts, or this invocation may do no more; record how it stands."""
        replay = self._invocation.replay()
        try:
            chain = rollback_chain(self._invocation, replay)
            if isinstance(chain, HistoryDiverged):  # nothing runs against code that does not match (R16)
                self._invocation.diverge(chain)
            else:
                self._roll_back_all(replay, chain)
        finally:
            replay.close()

    def _roll_back_all(self, replay: Replay, chain: list[Undoable]) -> None:
        self._note_the_set(chain)
        todo = [undoable for undoable in chain if not self._is_over(undoable)]
        if not todo or self._halted():
            self._record(self._end())
            return
        for undoable in todo:
            if not self._invocation.budget.allows(undoable.call.rollback_timeout):
                self._record(GiveBack())
                return
            replay.occupied = f"the rollback of step '{undoable.call.path}'"
            if not self._roll_back(undoable, last=undoable is todo[-1]):
                return

    def _note_the_set(self, chain: list[Undoable]) -> None:
        """Have the first checkpoint record the cause, the chain, and the frontier step as unfinished (protocol rule 9)."""
        history, now = self._lease.history, self._invocation.now()
        if history.cause is None:
            self._lease.note(records.cancellation(now))
        if history.chain is not None or not chain:
            return
        self._lease.note(ChainEntry(paths=[undoable.call.path for undoable in chain], started=now, ended=now))
        for undoable in chain:
            if not has_started(undoable):
                reached = undoable.entry or StepEntry(path=undoable.call.path, order=undoable.order)
                started = reached.started or self._invocation.head.claimed
                self._lease.note(replace(reached, undoable=True, started=started))

    def _is_over(self, undoable: Undoable) -> bool:
        """Return whether its rollback is settled; one that failed holds up the others only where the chain halts."""
        entry = self._lease.history.rollbacks.get(undoable.call.path)
        return entry is not None and entry.settled

    def _halted(self) -> bool:
        """Return whether a rollback has failed, and the workflow wants no other to run after that (R10)."""
        failed = any(entry.failure is not None for entry in self._lease.history.rollbacks.values())
        return failed and self._invocation.workflow.on_rollback_failure == "halt"

    # --- one rollback ----------------------------------------------------------------------------------------------

    def _roll_back(self, undoable: Undoable, *, last: bool) -> bool:
        """Run one rollback to its end; return whether another may follow in this invocation."""
        path = undoable.call.path
        entry = self._lease.history.rollbacks.get(path) or RollbackEntry(path=path)
        if entry.until > self._invocation.now():
            return self._record(Park(entry.until))
        match self._work.run(self._task(undoable), entry):
            case Settled(entry, state, recorded):
                halts = entry.failure is not None and self._invocation.workflow.on_rollback_failure == "halt"
                spent = self._invocation.budget.spent()
                following = self._end() if last or halts else GiveBack() if spent else Continue()
                return self._record(following, None if recorded else entry, state)
            case Backoff(entry, state):
                return self._record(Park(entry.until), entry, state)
            case Unread(error):
                self._invocation.diverge(error)
                return False
            case Left():
                return False

    def _task(self, undoable: Undoable) -> Task:
        return Task(undoable.call, lambda access, number, key: self._undo(access, undoable, number, key), rollback=True)

    def _undo(self, access: Access, undoable: Undoable, number: int, key: str) -> Undo[Any, Any]:
        head, call, entry = self._invocation.head, undoable.call, undoable.entry
        cause = self._lease.history.cause
        return Undo(
            access,
            name=leaf(call.path),
            path=call.path,
            attempt=number,
            execution_id=head.execution_id,
            idempotency_key=key,
            forward_idempotency_key=forward_key(head.life, head.run, call.path),
            forward_attempts=entry.charged if entry is not None else 0,
            output=self._output(undoable),
            status=undo_status(entry),
            error=entry.error.info() if entry is not None and entry.error is not None else None,
            cause=cause.error.info() if cause is not None else records.CANCELLED,
        )

    def _output(self, undoable: Undoable) -> Any:
        entry = undoable.entry
        if entry is None or not entry.has_value:
            return None
        stored = self._lease.fetch(entry.kept) if entry.kept else entry.stored
        return codec.decode(stored, undoable.call.annotation)

    # --- recording -------------------------------------------------------------------------------------------------

    def _record(self, following: Next, entry: RollbackEntry | None = None, state: bytes = b"") -> bool:
        """Record how the rollback goes on; return whether this invocation does."""
        entries = [] if entry is None else [entry]
        if isinstance(following, Continue) and not entries:
            return True  # it has been recorded, and the lease kept
        return self._invocation.record(Checkpoint(entries, following, rollback=True, state=state, ran=bool(entries)))

    def _end(self) -> End:
        """Return the end of the execution, as its cause says."""
        cause = self._lease.history.cause
        return End(Status.CANCELLED if cause is None or cause.cancelled else Status.FAILED)


def undo_status(entry: StepEntry | None) -> UndoStatus:
    """Return how the step ended, as its rollback sees it (R9)."""
    if entry is None:
        return "unfinished"
    match entry.status:
        case EntryStatus.COMPLETED:
            return "completed"
        case EntryStatus.FAILED | EntryStatus.RETRYING:
            return "failed"
        case _:
            return "unfinished"
