"""What the engine's replay asks for, done: bodies are run, outcomes recorded, waits begun (the forward direction)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from msgspec.structs import replace

from durable.api.calls import StepCall
from durable.api.messages import Sent
from durable.api.step import Access, Step
from durable.api.workflow import Workflow
from durable.engine.entries import Entry, EntryKind, EntryStatus
from durable.engine.interrupts import Suspended
from durable.engine.paths import leaf
from durable.errors import ErrorInfo
from durable.protocol.checkpoint import Checkpoint, Continue, End, GiveBack, Next, Park
from durable.protocol.head import Head, Status
from durable.protocol.updates import Put
from durable.runtime.invocation import records
from durable.runtime.invocation.attempts import Completed, Retrying
from durable.runtime.invocation.budget import Budget
from durable.runtime.invocation.runner import Runner, Subject, Task
from durable.runtime.ports import Ports
from durable.runtime.storage.lease import Lease, WriteRefused


class ForwardDriver:
    """Runs the steps of one invocation; `last` is what remains to be recorded when the user's code has been left."""

    def __init__(
        self, claimed: Lease, workflow: Workflow[Any, Any, Any], budget: Budget, ports: Ports, runner: Runner
    ) -> None:
        self.last: Checkpoint | None = None  # None: nothing, a verb has taken the lease back
        self._claimed = claimed
        self._workflow = workflow
        self._budget = budget
        self._ports = ports
        self._runner = runner
        self._crashed = claimed.head.claims > 1  # an earlier forward claim ended without a checkpoint

    # --- the engine's Driver ---------------------------------------------------------------------------------------

    def now(self) -> int:
        """The time."""
        return self._ports.clock.now()

    def perform(self, call: StepCall, recorded: Entry | None, fingerprint: str) -> Entry:
        """Run attempts until the outcome is final, the budget is spent, or a retry is too far off to wait in place."""
        reached = recorded or Entry(
            path=call.path,
            order=self._claimed.history.next_order,
            status=EntryStatus.UNFINISHED,
            fingerprint=fingerprint,
            sensitive=call.sensitive,
        )
        entry = replace(reached, undoable=call.rollback is not None)
        self._expire([entry] if self._crashed else [])
        if not self._budget.allows(call.timeout, once=call.at_most_once):
            # Recorded as reached and not as started: what the code has logged on its way here is not written again.
            self._leave(GiveBack(), [entry if self._crashed else reached])
        if self._claimed.pressing:
            self._record()
        task = _task(call, self._claimed.head)
        while True:
            entry = self._marked(call, entry)
            known, result = self._runner.run(task, entry)
            if result.running:
                self._end_process(known)
            if isinstance(result, Completed) and (result.writes or result.foreign):
                try:
                    self._record([known], result.state, ran=True, writes=result.writes, foreign=result.foreign)
                    return self._or_leave(known)
                except WriteRefused as refusal:
                    known, result = self._runner.refused(refusal, entry, result)
            entry = known
            if not isinstance(result, Retrying):
                if self._budget.spent():
                    self._leave(GiveBack(), [entry], result.state, ran=True)
                self._record([entry], result.state, ran=True)
                return entry
            if not self._budget.can_wait(result.wait, call.timeout):
                self._leave(Park(self._no_later(entry.until)), [entry], result.state, ran=True)
            self._record([entry], result.state, ran=True)
            self._ports.clock.sleep(result.wait)

    def exhaust(self, call: StepCall, recorded: Entry) -> Entry:
        """Record that crashes used the attempts up (S4)."""
        entry = self._runner.exhausted(recorded)
        self._record([entry], ran=True)
        return entry

    def note(self, entry: Entry, *, first: bool = False) -> None:
        """Record an entry with the next checkpoint; `first`: with one of its own before a body runs (rule 6)."""
        self._claimed.note(entry, first=first)

    def park(self, until: int, entry: Entry | None = None) -> NoReturn:
        """Suspend until then, or until a message or the execution's own deadline comes."""
        self._expire([])
        entries = [entry] if entry else []
        self._leave(Park(self._no_later(until), self._claimed.head.inbox), entries)

    def messages(self, queues: Sequence[str] | None, count: int) -> Sequence[Sent]:
        """Messages that wait."""
        return self._claimed.messages(queues, count)

    def reply(self, message: Sent, response: bytes) -> None:
        """Answer the sender of a message."""
        self._claimed.reply(message, response)

    def checked(self, stored: bytes, what: str) -> bytes:
        """The value, if it can be kept."""
        return self._ports.values.checked(stored, what)

    def drifted(self, path: str) -> None:
        """Count a step whose arguments differ from the recorded ones (D6)."""
        head = self._claimed.head
        self._ports.observer.noticed("drift", head.execution_id, head.workflow)

    # --- below -----------------------------------------------------------------------------------------------------

    def _marked(self, call: StepCall, entry: Entry) -> Entry:
        """Record the start before the body, after a crash and for at-most-once: a crash is then charged (rule 10)."""
        if not (self._crashed or entry.crashed or call.at_most_once):
            return entry
        marked = records.marked(entry, self._ports.clock.now(), crashed=self._crashed or entry.crashed)
        self._record(mark=marked)
        return marked

    def _or_leave(self, entry: Entry) -> Entry:
        """Go on after what has been recorded, or suspend where this invocation may do no more."""
        if self._budget.spent():
            self._leave(GiveBack())
        return entry

    def _no_later(self, moment: int) -> int:
        """The moment, or the execution's own deadline if that comes first."""
        deadline = self._claimed.head.deadline
        return min(moment, deadline) if deadline else moment

    def _expire(self, entries: Sequence[Entry]) -> None:
        """Fail the execution when its own time is over (R13)."""
        head = self._claimed.head
        now = self._ports.clock.now()
        if head.deadline and now >= head.deadline:
            error = ErrorInfo(
                "ExecutionTimedOut", f"the execution took longer than its timeout, {self._workflow.timeout:g} s"
            )
            self._leave(End(Status.FAILING), [*entries, records.ending(EntryKind.CAUSE, error, now)])

    def _record(
        self,
        entries: Sequence[Entry] = (),
        state: bytes = b"",
        *,
        mark: Entry | None = None,
        ran: bool = False,
        writes: Sequence[Put] = (),
        foreign: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Checkpoint and go on; where a verb came in, the lease is given back instead: suspend."""
        wanted = Checkpoint(entries, Continue(), state=state, mark=mark, ran=ran, writes=writes, foreign=foreign)
        head = self._claimed.checkpoint(wanted)
        self._crashed = False  # it is accounted for
        self._runner.told()
        if head.status is Status.RUNNING:
            return
        if head.lease:  # the verb came after the write, whose answer was lost
            self._claimed.checkpoint(Checkpoint((), GiveBack()))
        self.last = None
        raise Suspended

    def _leave(
        self, following: Next, entries: Sequence[Entry] = (), state: bytes = b"", *, ran: bool = False
    ) -> NoReturn:
        """Suspend; it is recorded once the user's code has been left."""
        self.last = Checkpoint(entries, following, state=state, ran=ran)
        raise Suspended

    def _end_process(self, entry: Entry) -> NoReturn:
        """A body has outlived its timeout and still runs: record the attempt, and take the body down (S4).

        The lease stays, so that no retry and no rollback overlaps the body. Where a verb came in it does not, but
        nobody has been sent a continuation yet.
        """
        try:
            self._record([entry], ran=True)
        finally:
            self._ports.process.exit()
        raise Suspended


def _task(call: StepCall, head: Head) -> Task:
    def make(access: Access, number: int, key: str) -> Step[Any]:
        return Step(
            access,
            name=leaf(call.path),
            path=call.path,
            attempt=number,
            execution_id=head.execution_id,
            idempotency_key=key,
        )

    return Task(call, call.body, Subject("Step", make), call.retry, call.timeout, call.annotation, rollback=False)
