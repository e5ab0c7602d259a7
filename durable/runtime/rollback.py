"""Rolls an execution back: the rollbacks of its started steps, one after the other, in reverse order of their starts.

The functions are not stored. The workflow's code is replayed against its history, which hands over each step's rollback
with its arguments, and stops where the history stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from durable.engine.calls import StepCall
from durable.engine.context import Context
from durable.engine.document import Document
from durable.engine.history import Entry, EntryKind, EntryStatus
from durable.engine.interrupts import Diverged, Interrupt, Suspended
from durable.engine.keys import forward_key, rollback_key
from durable.engine.log import ExecutionLog
from durable.engine.messages import Sent
from durable.engine.paths import leaf
from durable.engine.replay import Drift, Replay, Scope, Undoable
from durable.engine.step import Access, Undo, UndoStatus
from durable.engine.workflow import Workflow
from durable.errors import HistoryDiverged
from durable.runtime import records
from durable.runtime.attempts import Attempt, Completed, Result, Retrying
from durable.runtime.budget import Budget
from durable.runtime.claimed import Claimed, Wanted, WriteRefused
from durable.runtime.head import Status
from durable.runtime.ports import Ports, StepEnded
from durable.runtime.reach import Reach
from durable.runtime.registry import Registry


class ReplayOnly:
    """The engine's Driver of a replay that runs nothing."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        """The time of the last forward claim: what was due then was passed then (protocol rule 9)."""
        return self._now

    def perform(self, call: StepCall, recorded: Entry | None, fingerprint: str) -> Entry:
        """Nothing runs."""
        raise Suspended

    def exhaust(self, call: StepCall, recorded: Entry) -> Entry:
        """Nothing is recorded."""
        raise Suspended

    def note(self, entry: Entry, *, first: bool = False) -> None:
        """Nothing is recorded."""

    def park(self, until: int, entry: Entry | None = None) -> NoReturn:
        """The history stops here."""
        raise Suspended

    def messages(self, queues: Sequence[str] | None, count: int) -> Sequence[Sent]:
        """Nothing is taken."""
        return ()

    def reply(self, message: Sent, response: bytes) -> None:
        """Nothing is sent."""

    def drifted(self, path: str) -> None:
        """Arguments are compared in the forward direction."""


class Rollback:
    """One invocation's part of a rollback."""

    def __init__(
        self,
        claimed: Claimed,
        workflow: Workflow[Any, Any, Any],
        budget: Budget,
        ports: Ports,
        registry: Registry,
        scratch: dict[str, Any],
        drift: Drift,
    ) -> None:
        self._claimed = claimed
        self._workflow = workflow
        self._budget = budget
        self._ports = ports
        self._registry = registry
        self._scratch = scratch
        self._drift: Drift = drift
        self._event: StepEnded | None = None  # to be told when it is recorded
        self._started = 0

    def run(self) -> None:
        """Run rollbacks until the chain is done, halts, or this invocation may do no more; record how it stands."""
        try:
            undoables = self._undoables()
        except Diverged as divergence:  # nothing runs against code that does not match (R16)
            found = records.ending(EntryKind.DIVERGENCE, divergence.error, self._ports.clock.now())
            self._claimed.checkpoint(Wanted([found], Status.DIVERGED))
            return
        settled = self._settled(undoables)
        if self._halted():
            self._commit(Wanted(settled, self._end()))
            return
        todo = [undoable for undoable in undoables if not self._over(undoable)]
        for undoable in todo:
            if not self._budget.allows(undoable.call.rollback_timeout):
                self._commit(Wanted(settled, Status.ROLLING_BACK))
                return
            if not self._roll_back(undoable, settled, last=undoable is todo[-1]):
                return
            settled = []
        if not todo:
            self._commit(Wanted(settled, self._end()))

    # --- what is rolled back ---------------------------------------------------------------------------------------

    def _undoables(self) -> list[Undoable]:
        """The steps to roll back, latest start first (R4, R5)."""
        head, history = self._claimed.head, self._claimed.history
        if head.skip_rollback:
            return []
        now = head.claimed or head.created
        replay = Replay(
            head.execution_id, history, ReplayOnly(now), now=now, created=head.created, undoing=True, drift=self._drift
        )
        log = ExecutionLog({}, lambda: False)
        scope = Scope("", {})
        context: Context[Any] = Context(replay, scope, log)
        try:
            given = history.input
            self._workflow(context, history.value(given, self._workflow.input_type) if given is not None else None)
        except Suspended:
            pass
        except Interrupt:
            raise
        except (Exception, SystemExit, GeneratorExit):
            pass  # the failure that brought us here, or one that it led to
        if isinstance(replay.left, Diverged):  # the code caught it
            raise replay.left
        self._check_all_found(replay.undoables)
        may_have_started = head.claims > 0 and head.status is not Status.ROLLING_BACK
        boundary = history.boundary  # what started before it is settled business (R14)
        started = [
            undoable
            for undoable in replay.undoables
            if undoable.order > boundary and (undoable.entry is not None or may_have_started)
        ]
        return sorted(started, key=lambda undoable: undoable.order, reverse=True)

    def _check_all_found(self, undoables: list[Undoable]) -> None:
        found = {undoable.call.path for undoable in undoables}
        for entry in self._claimed.history.undoable_steps():
            if entry.path not in found:
                raise Diverged(
                    HistoryDiverged(
                        entry.path, f"a step '{entry.path}' with a rollback", "no such step, or no rollback for it"
                    )
                )

    def _settled(self, undoables: list[Undoable]) -> list[Entry]:
        """What the first checkpoint of a rollback records besides: the cause, and the frontier step as unfinished.

        That fixes the set: from then on it is read from the history alone (protocol rule 9).
        """
        entries = []
        if self._claimed.history.cause is None:
            entries.append(cancellation(self._ports.clock.now()))
        for undoable in undoables:
            if undoable.entry is None:
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
        failed = any(entry.failure is not None for entry in self._claimed.history.rollbacks.values())
        return failed and self._workflow.on_rollback_failure == "halt"

    # --- one rollback ----------------------------------------------------------------------------------------------

    def _roll_back(self, undoable: Undoable, settled: list[Entry], *, last: bool) -> bool:
        """Run one rollback to its end; False when this invocation has recorded all that it will."""
        path = undoable.call.path
        entry = self._claimed.history.rollbacks.get(path) or Entry(
            path=path, kind=EntryKind.ROLLBACK, status=EntryStatus.UNFINISHED
        )
        if entry.until > self._ports.clock.now():
            self._commit(Wanted(settled, Status.ROLLING_BACK, wake=entry.until))
            return False
        while True:
            attempt, result = self._run(undoable, entry)
            known = self._known(entry, result)
            if result.running:
                self._end_process([*settled, known])
            if isinstance(result, Completed) and (result.writes or result.foreign):
                try:
                    record = Wanted([*settled, known], Status.ROLLING_BACK, keep=True, state=result.state)
                    self._commit(replace(record, writes=result.writes, foreign=result.foreign))
                    return self._go_on(Wanted((), Status.ROLLING_BACK), last=last)
                except WriteRefused as refusal:
                    result = attempt.refused(refusal, result.state)
                    known = self._known(entry, result)
            entry, entries, settled = known, [*settled, known], []
            if not isinstance(result, Retrying):
                halts = entry.status is EntryStatus.FAILED and self._workflow.on_rollback_failure == "halt"
                return self._go_on(Wanted(entries, Status.ROLLING_BACK, state=result.state), last=last or halts)
            if not self._budget.can_wait(result.wait, undoable.call.rollback_timeout):
                self._commit(Wanted(entries, Status.ROLLING_BACK, wake=entry.until, state=result.state))
                return False
            self._commit(Wanted(entries, Status.ROLLING_BACK, keep=True, state=result.state))
            self._ports.clock.sleep(result.wait)

    def _go_on(self, wanted: Wanted, *, last: bool) -> bool:
        """Record a rollback that has ended, and whether another may follow in this invocation."""
        keep = not last and not self._budget.spent()
        self._commit(replace(wanted, status=self._end() if last else wanted.status, keep=keep))
        return keep

    def _run(self, undoable: Undoable, entry: Entry) -> tuple[Attempt, Result]:
        head, call = self._claimed.head, undoable.call
        assert call.rollback is not None
        number = records.number_of(entry)
        attempt = Attempt(
            what=f"the rollback of step '{call.path}'",
            seed=f"{head.execution_id}:rollback:{call.path}",
            function=call.rollback,
            subject="Undo",
            arguments=call.arguments,
            annotation=None,
            number=number,
            retry=call.rollback_retry,
            limit=self._budget.limit(call.rollback_timeout),
            values=self._ports.values,
        )
        fields = {"workflow": head.workflow, "execution": head.execution_id, "step": call.path, "attempt": number}
        log = ExecutionLog({**fields, "rollback": True})
        document = Document(self._claimed.stored_state, self._workflow.state)
        key = rollback_key(head.execution_id, head.run, call.path)
        reach = Reach(self._ports, self._registry, head.execution_id, head.workflow, key)
        self._ports.observer.body_started(head.execution_id, call.path, number, rollback=True)
        self._started = self._ports.clock.now()
        result = attempt.run(lambda access: self._undo(access, undoable, number), document, self._scratch, log, reach)
        self._budget.done += 1
        return attempt, result

    def _known(self, entry: Entry, result: Result) -> Entry:
        """The entry after the attempt, and what an observer is told of it once it is recorded."""
        now = self._ports.clock.now()
        known = records.after(entry, result, self._started, now)
        length = (now - self._started) / 1000
        self._event = records.event(self._claimed.head, known, records.number_of(entry), length)
        return known

    def _undo(self, access: Access, undoable: Undoable, number: int) -> Undo[Any, Any]:
        head, call, entry = self._claimed.head, undoable.call, undoable.entry
        cause = self._claimed.history.cause
        return Undo(
            access,
            name=leaf(call.path),
            path=call.path,
            attempt=number,
            execution_id=head.execution_id,
            idempotency_key=rollback_key(head.execution_id, head.run, call.path),
            forward_idempotency_key=forward_key(head.execution_id, head.run, call.path),
            forward_attempts=entry.charged if entry is not None else 0,
            output=self._claimed.history.value(entry, call.annotation) if entry is not None else None,
            status=undo_status(entry),
            error=entry.error.info() if entry is not None and entry.error is not None else None,
            cause=cause.error.info() if cause is not None and cause.error is not None else records.CANCELLED,
        )

    # --- recording -------------------------------------------------------------------------------------------------

    def _commit(self, wanted: Wanted) -> None:
        self._claimed.checkpoint(wanted)
        if self._event is not None:
            self._ports.observer.step_ended(self._event)
        self._event = None

    def _end_process(self, entries: list[Entry]) -> NoReturn:
        """A rollback has outlived its timeout and still runs: record the attempt, and take it down (S4)."""
        try:
            self._commit(Wanted(entries, Status.ROLLING_BACK, keep=True))
        finally:
            self._ports.process.exit()
        raise Suspended

    def _end(self) -> Status:
        """The status in which the execution ends."""
        cause = self._claimed.history.cause
        return Status.CANCELLED if cause is None or cause.path == records.CANCELLATION else Status.FAILED


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
