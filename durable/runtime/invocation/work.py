"""Runs one body, a step's or a rollback's: attempt after attempt, until its outcome is final or the invocation has to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar

from msgspec import Struct

from durable.api.calls import StepCall
from durable.api.document import Document
from durable.api.log import ExecutionLog
from durable.api.retry import Retry
from durable.api.step import Access
from durable.engine.branch import READABLE
from durable.engine.entries import RollbackEntry, StepEntry
from durable.engine.identities import forward_key, rollback_key
from durable.engine.interrupts import Suspended
from durable.errors import HistoryDiverged
from durable.protocol.checkpoint import Checkpoint, Continue
from durable.runtime.events import BodyStarted
from durable.runtime.invocation import records
from durable.runtime.invocation.attempt import Attempt, Completed, Outcome, Result, Retrying, Unreadable
from durable.runtime.invocation.invocation import Invocation
from durable.runtime.invocation.services import Reach
from durable.runtime.storage.refusals import WriteRefused

E = TypeVar("E", StepEntry, RollbackEntry)


class Task(Struct, frozen=True):
    """A body to run: the step's, or its rollback's."""

    call: StepCall
    make: Callable[[Access, int, str], object]  # the Step or Undo, of the attempt's number and the idempotency key
    rollback: bool = False

    @property
    def function(self) -> Callable[..., Any]:
        """The body."""
        return self.call.rollback if self.rollback and self.call.rollback is not None else self.call.body

    @property
    def retry(self) -> Retry:
        """How it is retried."""
        return self.call.rollback_retry if self.rollback else self.call.retry

    @property
    def timeout(self) -> float | None:
        """Seconds that one attempt may take; None: as long as the invocation."""
        return self.call.rollback_timeout if self.rollback else self.call.timeout

    @property
    def at_most_once(self) -> bool:
        """Whether an interrupted attempt counts as a failed one."""
        return self.call.at_most_once and not self.rollback

    @property
    def what(self) -> str:
        """What it is called in messages."""
        step = f"step '{self.call.path}'"
        return f"the rollback of {step}" if self.rollback else step


class Settled(Struct, Generic[E], frozen=True):
    """The outcome is final. `recorded`: it has been committed with the body's own writes already."""

    entry: E
    state: bytes = b""
    recorded: bool = False


class Backoff(Struct, Generic[E], frozen=True):
    """The attempt failed, and the next one is too far off to be waited for here."""

    entry: E
    state: bytes


class Unread(Struct, frozen=True):
    """The state that the body asked for can't be read by the code of today: the execution diverges."""

    error: HistoryDiverged


class Left(Struct, frozen=True):
    """A command has taken the lease back: nothing more may be recorded here."""


class Work:
    """Runs the bodies of one invocation."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._started = 0

    def run(self, task: Task, entry: E) -> Settled[E] | Backoff[E] | Unread | Left:
        """Run attempts until the outcome is final, a retry is too far off to wait for, or a command comes in."""
        invocation = self._invocation
        while True:
            if entry.marks and entry.charged >= task.retry.attempts:
                return self.exhausted(entry)
            begun = self._begun(task, entry)
            if begun is None:
                return Left()
            attempt = self._attempt(task, begun)
            ran = self._ran(task, attempt, begun)
            if isinstance(ran, Unreadable):
                return Unread(_unreadable(ran.error))
            result: Outcome = ran
            known = self._after(begun, result)
            if result.running:
                self._end_process(known)
            if isinstance(result, Completed) and (result.writes or result.foreign):
                try:
                    return self._committed(known, result)
                except WriteRefused as refusal:
                    result = attempt.refused(refusal, result.state)
                    known = self._after(begun, result)
            entry = known
            if not isinstance(result, Retrying):
                return Settled(entry, result.state)
            if not invocation.budget.can_wait(result.wait, task.timeout):
                return Backoff(entry, result.state)
            if not self._record(Checkpoint([entry], Continue(), self._rollback, result.state, ran=True)):
                return Left()
            invocation.ports.clock.sleep(result.wait)

    def exhausted(self, entry: E) -> Settled[E]:
        """Return the outcome of a body whose attempts were used up by crashes."""
        invocation = self._invocation
        failed = records.exhausted(entry, invocation.now())
        invocation.ended = records.event(invocation.head, failed, failed.charged, 0.0)
        return Settled(failed)

    # --- below -----------------------------------------------------------------------------------------------------

    @property
    def _rollback(self) -> bool:
        return self._invocation.rollback

    def _record(self, wanted: Checkpoint) -> bool:
        return self._invocation.record(wanted)

    def _begun(self, task: Task, entry: E) -> E | None:
        """Record what has to be recorded before the body: its start, where a crash is to be charged (protocol rule 10)."""
        invocation = self._invocation
        if invocation.crashed or entry.crashed or task.at_most_once:
            crashed = invocation.crashed or entry.crashed
            marked = records.marked(entry, invocation.now(), crashed=crashed)
            goes_on = self._record(Checkpoint((), Continue(), self._rollback, mark=marked))
            return marked if goes_on else None
        if invocation.lease.pressing and not self._record(Checkpoint((), Continue(), self._rollback)):
            return None
        return entry

    def _attempt(self, task: Task, entry: E) -> Attempt:
        invocation = self._invocation
        budget, head, path = invocation.budget, invocation.head, task.call.path
        return Attempt(
            what=task.what,
            seed=f"{head.life}:{entry.kind}:{path}",
            function=task.function,
            subject="Undo" if task.rollback else "Step",
            arguments=task.call.arguments,
            annotation=None if task.rollback else task.call.annotation,
            number=records.number_of(entry),
            retry=task.retry,
            limit=budget.limit(task.timeout),
            cut=budget.cuts(task.timeout) and not task.at_most_once,
            values=invocation.ports.values,
            context=task.call.context,
            threads=invocation.threads,
        )

    def _ran(self, task: Task, attempt: Attempt, entry: E) -> Result:
        """Run one attempt."""
        invocation = self._invocation
        head, path, number = invocation.head, task.call.path, attempt.number
        key = (rollback_key if task.rollback else forward_key)(head.life, head.run, path)
        fields = {"workflow": head.workflow, "execution": head.execution_id, "step": path, "attempt": number}
        log = ExecutionLog({**fields, "rollback": True} if task.rollback else fields)
        document = Document(invocation.lease.stored_state, invocation.workflow.state)
        reach = Reach(invocation.ports, invocation.registry, head, key)
        invocation.ports.observer.observe(BodyStarted(head.execution_id, head.workflow, path, task.rollback, number))
        self._started = invocation.now()
        result = attempt.run(lambda access: task.make(access, number, key), document, invocation.variables, log, reach)
        invocation.budget.done += 1
        return result

    def _after(self, entry: E, result: Outcome) -> E:
        invocation = self._invocation
        now = invocation.now()
        known = records.after(entry, result, self._started, now)
        length = (now - self._started) / 1000
        invocation.ended = records.event(invocation.head, known, records.number_of(entry), length)
        return known

    def _committed(self, entry: E, result: Completed) -> Settled[E] | Left:
        """Record a result and the body's own writes in one transaction; raises WriteRefused."""
        record = Checkpoint(
            [entry],
            Continue(),
            self._rollback,
            result.state,
            ran=True,
            writes=result.writes,
            foreign=result.foreign,
        )
        return Settled(entry, recorded=True) if self._record(record) else Left()

    def _end_process(self, entry: E) -> NoReturn:
        """A body has outlived its timeout and still runs: record the attempt, and take the body down (S4).

        The lease stays, so that no retry and no rollback overlaps the body. Where a command came in it does not, but
        nobody has been sent a continuation yet.
        """
        try:
            self._record(Checkpoint([entry], Continue(), self._rollback, ran=True))
        finally:
            self._invocation.ports.process.exit()
        raise Suspended


def _unreadable(error: Exception) -> HistoryDiverged:
    diverged = HistoryDiverged("state", "a state", f"a type that can't read it: {error}", READABLE)
    diverged.__cause__ = error
    return diverged
