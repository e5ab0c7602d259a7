"""The forward direction of one invocation: replay, run what is ready, and record how the execution goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from durable import codec
from durable.api.calls import StepCall
from durable.api.step import Access, Step
from durable.engine.entries import Entry, OutputEntry, StepEntry, with_value
from durable.engine.outcomes import Diverged, Done, Failed, Parked, Ready
from durable.engine.paths import leaf
from durable.engine.replay import Replay
from durable.errors import CodecError, ErrorInfo, SuspensionSwallowed
from durable.protocol.checkpoint import Checkpoint, Continue, End, GiveBack, Next, Park
from durable.protocol.head import Head, Status
from durable.runtime.invocation import records
from durable.runtime.invocation.invocation import Invocation
from durable.runtime.invocation.work import Backoff, Left, Settled, Task, Unread, Work
from durable.runtime.storage.refusals import InboxChanged
from durable.usercode.failures import described, original

SWALLOWED = (
    "the workflow caught the suspension of its execution: a bare `except` or `except BaseException` stands around a "
    "durable operation. Catch Exception instead, and let the rest pass."
)


class Forward:
    """One invocation's part of an execution that goes forward."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._work = Work(invocation)

    def run(self) -> None:
        """Replay and run until the execution suspends or ends, and record how."""
        while True:
            replay = self._invocation.replay()
            try:
                self._go(replay)
                return
            except InboxChanged:  # a message came while it was about to park: look again
                continue
            finally:
                replay.close()

    def _go(self, replay: Replay) -> None:
        goes_on = True
        while goes_on:
            outcome = self._invocation.drive(replay)
            match outcome:
                case Ready():
                    goes_on = self._perform(replay, outcome)
                case Parked(until, entry):
                    return self._park(replay, until, [] if entry is None else [entry])
                case Done(value):
                    return self._complete(value)
                case Failed(error):
                    return self._fail(described(original(error)))
                case Diverged(error):
                    return self._invocation.diverge(error)
        return None

    # --- a body that is ready --------------------------------------------------------------------------------------

    def _perform(self, replay: Replay, ready: Ready) -> bool:
        """Run a body to its outcome; return whether the code may go on in this invocation."""
        invocation, call = self._invocation, ready.call
        begun = replace(ready.entry, undoable=call.rollback is not None)
        # Recorded as reached and not as started, unless an earlier invocation may have started it.
        reached = begun if invocation.crashed else ready.entry
        if expired := self._expired():
            return self._leave(replay, End(Status.FAILING), [*([reached] if invocation.crashed else []), expired])
        if ready.exhausted:
            return self._settle(replay, self._work.exhausted(ready.entry))
        if not invocation.budget.allows(call.timeout, once=call.at_most_once):
            return self._leave(replay, GiveBack(), [reached])
        match self._work.run(_task(call, invocation.head), begun):
            case Settled() as settled:
                return self._settle(replay, settled)
            case Backoff(entry, state):
                return self._leave(replay, Park(self._no_later(entry.until)), [entry], state, ran=True)
            case Unread(error):
                replay.close()
                self._invocation.diverge(error, [begun])
                return False
            case Left():
                return False

    def _settle(self, replay: Replay, settled: Settled[StepEntry]) -> bool:
        """Record an outcome, and go on in this invocation if it may do more."""
        entries = [] if settled.recorded else [settled.entry]
        if self._invocation.budget.spent():
            return self._leave(replay, GiveBack(), entries, settled.state, ran=bool(entries))
        if entries and not self._invocation.record(Checkpoint(entries, Continue(), state=settled.state, ran=True)):
            return False
        replay.settle(settled.entry)
        return True

    # --- how it goes on, or ends -----------------------------------------------------------------------------------

    def _leave(
        self, replay: Replay, following: Next, entries: Sequence[Entry] = (), state: bytes = b"", *, ran: bool = False
    ) -> bool:
        """Leave the user's code, then record; code that swallows its suspension has failed, and never succeeds (D8)."""
        if replay.close():
            swallowed = records.cause(described(SuspensionSwallowed(SWALLOWED)), self._invocation.now())
            entries, following = [*entries, swallowed], End(Status.FAILING)
        self._invocation.record(Checkpoint(entries, following, state=state, ran=ran))
        return False

    def _park(self, replay: Replay, until: int, entries: Sequence[Entry]) -> None:
        """Suspend until then, or until a message or the execution's own deadline comes."""
        if expired := self._expired():
            self._leave(replay, End(Status.FAILING), [expired])
        else:
            self._leave(replay, Park(self._no_later(until), self._invocation.head.inbox), entries)

    def _complete(self, value: Any) -> None:
        workflow, now = self._invocation.workflow, self._invocation.now()
        try:
            stored = codec.encode(value, workflow.output_type)
            self._invocation.ports.values.checked(stored, "the workflow's output")
        except CodecError as error:
            return self._fail(described(CodecError(f"the workflow's output can't be stored: {error}", error.path)))
        output = with_value(OutputEntry(started=now, ended=now), stored)
        self._invocation.record(Checkpoint([output], End(Status.COMPLETED)))
        return None

    def _fail(self, error: ErrorInfo) -> None:
        self._invocation.record(Checkpoint([records.cause(error, self._invocation.now())], End(Status.FAILING)))

    # --- the execution's own timeout -------------------------------------------------------------------------------

    def _no_later(self, moment: int) -> int:
        """Return the moment, or the execution's own deadline if that comes first."""
        deadline = self._invocation.head.deadline
        return min(moment, deadline) if deadline else moment

    def _expired(self) -> Entry | None:
        """Return the cause of an execution whose own time is over (R13)."""
        head, now = self._invocation.head, self._invocation.now()
        if not head.deadline or now < head.deadline:
            return None
        timeout = self._invocation.workflow.timeout
        limit = "its timeout" if timeout is None else f"its timeout, {timeout:g} s"
        return records.cause(ErrorInfo("ExecutionTimedOut", f"the execution took longer than {limit}"), now)


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

    return Task(call, make)
