"""Rolls an execution back: the rollbacks of its started steps, one after the other, in reverse order of their starts."""

from __future__ import annotations

from typing import Any, NoReturn

from msgspec.structs import replace

from durable.api.step import Access, Undo, UndoStatus
from durable.api.workflow import Workflow
from durable.engine.entries import Entry, EntryKind, EntryStatus
from durable.engine.identities import forward_key
from durable.engine.interrupts import Diverged, Suspended
from durable.engine.paths import leaf
from durable.engine.replay import Drift, Undoable
from durable.protocol.checkpoint import Checkpoint, Continue, End, GiveBack, Next, Park
from durable.protocol.head import Status
from durable.runtime.invocation import records
from durable.runtime.invocation.attempts import Completed, Retrying
from durable.runtime.invocation.budget import Budget
from durable.runtime.invocation.runner import Runner, Subject, Task
from durable.runtime.invocation.undoables import has_started, undoables
from durable.runtime.ports import Ports
from durable.runtime.storage.lease import Lease, WriteRefused


class Rollback:
    """One invocation's part of a rollback."""

    def __init__(
        self,
        claimed: Lease,
        workflow: Workflow[Any, Any, Any],
        budget: Budget,
        ports: Ports,
        runner: Runner,
        drift: Drift,
    ) -> None:
        self._claimed = claimed
        self._workflow = workflow
        self._budget = budget
        self._ports = ports
        self._runner = runner
        self._drift: Drift = drift
        self._crashed = claimed.head.undoing > 1  # an earlier rollback claim ended without a checkpoint

    def run(self) -> None:
        """Run rollbacks until the chain is done, halts, or this invocation may do no more; record how it stands."""
        try:
            chain = undoables(self._claimed, self._workflow, self._drift)
        except Diverged as divergence:  # nothing runs against code that does not match (R16)
            found = records.ending(EntryKind.DIVERGENCE, divergence.error, self._ports.clock.now())
            self._claimed.checkpoint(Checkpoint([found], End(Status.DIVERGED), rollback=True))
            return
        settled = self._settled(chain)
        todo = [undoable for undoable in chain if not self._over(undoable)]
        if not todo or self._halted():
            self._commit(Checkpoint(settled, self._end(), rollback=True))
            return
        for undoable in todo:
            if not self._budget.allows(undoable.call.rollback_timeout):
                self._commit(Checkpoint(settled, GiveBack(), rollback=True))
                return
            if not self._roll_back(undoable, settled, last=undoable is todo[-1]):
                return
            settled = []

    def _settled(self, chain: list[Undoable]) -> list[Entry]:
        """What the first checkpoint of a rollback records besides: the cause, and the frontier step as unfinished.

        That fixes the set: from then on it is read from the history alone (protocol rule 9).
        """
        entries = []
        if self._claimed.history.cause is None:
            entries.append(cancellation(self._ports.clock.now()))
        for undoable in chain:
            if not has_started(undoable.entry):
                entries.append(
                    Entry(
                        path=undoable.call.path,
                        status=EntryStatus.UNFINISHED,
                        order=undoable.order,
                        undoable=True,
                        started=self._claimed.head.claimed,
                    )
                )
        return entries

    def _over(self, undoable: Undoable) -> bool:
        """Whether its rollback is settled; one that failed for good holds up the others only where the chain halts."""
        entry = self._claimed.history.rollbacks.get(undoable.call.path)
        return entry is not None and entry.settled

    def _halted(self) -> bool:
        """Whether a rollback has failed for good, and the workflow wants no other to run after that (R10)."""
        return self._failed() and self._workflow.on_rollback_failure == "halt"

    def _failed(self) -> bool:
        """Whether a rollback has failed for good."""
        return any(entry.failure is not None for entry in self._claimed.history.rollbacks.values())

    # --- one rollback ----------------------------------------------------------------------------------------------

    def _roll_back(self, undoable: Undoable, settled: list[Entry], *, last: bool) -> bool:
        """Run one rollback to its end; False when this invocation has recorded all that it will."""
        path = undoable.call.path
        entry = self._claimed.history.rollbacks.get(path) or Entry(
            path=path, kind=EntryKind.ROLLBACK, status=EntryStatus.UNFINISHED
        )
        if entry.until > self._ports.clock.now():
            self._commit(Checkpoint(settled, Park(entry.until), rollback=True))
            return False
        task = self._task(undoable)
        while True:
            if entry.marks and entry.charged > task.retry.max_retries:
                exhausted = self._runner.exhausted(entry)
                return self._ended(exhausted, [*settled, exhausted], last=last)
            if self._crashed or entry.crashed:
                entry, settled = self._marked(entry, settled), []
            known, result = self._runner.run(task, entry)
            if result.running:
                self._end_process([*settled, known])
            if isinstance(result, Completed) and (result.writes or result.foreign):
                try:
                    record = Checkpoint([*settled, known], Continue(), rollback=True, state=result.state)
                    self._commit(replace(record, writes=result.writes, foreign=result.foreign))
                    return self._go_on(Checkpoint((), GiveBack(), rollback=True), last=last)
                except WriteRefused as refusal:
                    known, result = self._runner.refused(refusal, entry, result)
            entry, entries, settled = known, [*settled, known], []
            if not isinstance(result, Retrying):
                return self._ended(entry, entries, result.state, last=last)
            if not self._budget.can_wait(result.wait, undoable.call.rollback_timeout):
                self._commit(Checkpoint(entries, Park(entry.until), rollback=True, state=result.state))
                return False
            self._commit(Checkpoint(entries, Continue(), rollback=True, state=result.state))
            self._ports.clock.sleep(result.wait)

    def _marked(self, entry: Entry, settled: list[Entry]) -> Entry:
        """Record the start before the body, after a crash: the next one is charged (protocol rule 10)."""
        marked = records.marked(entry, self._ports.clock.now(), crashed=True)
        self._commit(Checkpoint([*settled, marked], Continue(), rollback=True))
        return marked

    def _ended(self, entry: Entry, entries: list[Entry], state: bytes = b"", *, last: bool) -> bool:
        """Record a rollback that is done or has failed for good; whether another may follow in this invocation."""
        halts = entry.status is EntryStatus.FAILED and self._workflow.on_rollback_failure == "halt"
        return self._go_on(Checkpoint(entries, GiveBack(), rollback=True, state=state), last=last or halts)

    def _go_on(self, wanted: Checkpoint, *, last: bool) -> bool:
        """Record a rollback that has ended, and whether another may follow in this invocation."""
        keep = not last and not self._budget.spent()
        following: Next = self._end() if last else Continue() if keep else GiveBack()
        self._commit(replace(wanted, next=following))
        return keep

    def _task(self, undoable: Undoable) -> Task:
        call = undoable.call
        assert call.rollback is not None
        subject = Subject("Undo", lambda access, number, key: self._undo(access, undoable, number, key))
        return Task(call, call.rollback, subject, call.rollback_retry, call.rollback_timeout, None, rollback=True)

    def _undo(self, access: Access, undoable: Undoable, number: int, key: str) -> Undo[Any, Any]:
        head, call, entry = self._claimed.head, undoable.call, undoable.entry
        cause = self._claimed.history.cause
        return Undo(
            access,
            name=leaf(call.path),
            path=call.path,
            attempt=number,
            execution_id=head.execution_id,
            idempotency_key=key,
            forward_idempotency_key=forward_key(head.execution_id, head.run, call.path),
            forward_attempts=entry.charged if entry is not None else 0,
            output=self._claimed.history.value(entry, call.annotation) if entry is not None else None,
            status=undo_status(entry),
            error=entry.error.info() if entry is not None and entry.error is not None else None,
            cause=cause.error.info() if cause is not None and cause.error is not None else records.CANCELLED,
        )

    # --- recording -------------------------------------------------------------------------------------------------

    def _commit(self, wanted: Checkpoint) -> None:
        self._claimed.checkpoint(wanted)
        self._crashed = False  # it is accounted for
        self._runner.told()

    def _end_process(self, entries: list[Entry]) -> NoReturn:
        """A rollback has outlived its timeout and still runs: record the attempt, and take it down (S4)."""
        try:
            self._commit(Checkpoint(entries, Continue(), rollback=True))
        finally:
            self._ports.process.exit()
        raise Suspended

    def _end(self) -> End:
        """The end of the execution."""
        cause = self._claimed.history.cause
        return End(Status.CANCELLED if cause is None or cause.path == records.CANCELLATION else Status.FAILED)


def cancellation(now: int) -> Entry:
    """The cause of an execution that was cancelled."""
    return records.ending(EntryKind.CAUSE, records.CANCELLED, now, records.CANCELLATION)


def undo_status(entry: Entry | None) -> UndoStatus:
    """How the step ended, as its rollback sees it (R9)."""
    if entry is None:
        return "unfinished"
    match entry.status:
        case EntryStatus.COMPLETED:
            return "completed"
        case EntryStatus.FAILED | EntryStatus.RETRYING:
            return "failed"
        case _:
            return "unfinished"
