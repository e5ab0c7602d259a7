"""One continuation: claim the execution, replay it to the next unexecuted step, run that, record it, go on (D1).

Here, and only here, what leaves the user's code is unwrapped: a suspension, a divergence, a lost lease, a fault.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from durable import codec
from durable.api.context import Context
from durable.api.log import ExecutionLog
from durable.api.workflow import Workflow
from durable.engine.entries import Entry, EntryKind, with_value
from durable.engine.interrupts import Diverged, Fault, Interrupt, LeaseLost, Suspended
from durable.engine.replay import Drift, Replay, Scope
from durable.errors import CodecError, StoreError, SuspensionSwallowed
from durable.protocol import writes
from durable.protocol.checkpoint import Checkpoint, End, GiveBack
from durable.protocol.continuation import Delivery, continuation_of
from durable.protocol.delivery import Action, Ruling, Verdict, rule
from durable.protocol.head import AT_REST, Head, Status
from durable.runtime import followups
from durable.runtime.invocation import records
from durable.runtime.invocation.budget import LEASE_MARGIN, Budget, Settings
from durable.runtime.invocation.driver import ForwardDriver
from durable.runtime.invocation.rollback import Rollback
from durable.runtime.invocation.runner import Runner
from durable.runtime.ports import ExecutionEnded, Ports
from durable.runtime.registry import Registry
from durable.runtime.storage.cache import SegmentCache, VarsCache
from durable.runtime.storage.lease import InboxChanged, Lease

logger = logging.getLogger("durable.runtime")

MAX_HOLD = 12 * 3_600_000 - 60_000  # from the receipt: SQS keeps a message invisible for 12 hours at most
UNKNOWN_HOLD = 60_000  # a deployment that does not know the workflow may be about to (a rolling deploy)
TRIES = 5  # claims of one delivery: a wrong hint, and verbs that come in


class Executor:
    """Moves executions on, one continuation at a time."""

    def __init__(self, settings: Settings, registry: Registry, ports: Ports) -> None:
        self._settings = settings
        self._registry = registry
        self._ports = ports
        self._segments = SegmentCache()
        self._vars = VarsCache()
        self._fullest = 0.0  # seconds: the most that an invocation of this process had

    def advance(self, delivery: Delivery, remaining: Callable[[], float]) -> Verdict:
        """What becomes of the message; a fault of the machinery returns it, and is never raised (D9, E6)."""
        try:
            return self._deliver(delivery, remaining)
        except LeaseLost:
            self._notice("lease_lost", delivery)
            return self._look_again(delivery)
        except (Fault, StoreError) as error:
            logger.warning("held after a fault of the machinery: %s", error, extra=fields(delivery))
            return Verdict.RETURN
        except Exception:  # a fault of this library: one execution's must not stop the others
            logger.exception("held after an unexpected error", extra=fields(delivery))
            return Verdict.RETURN

    # --- delivery --------------------------------------------------------------------------------------------------

    def _deliver(self, delivery: Delivery, remaining: Callable[[], float]) -> Verdict:
        continuation = delivery.continuation
        if self._registry.find(continuation.workflow, continuation.version) is None:
            self._notice("unknown_workflow", delivery)
            why = f"workflow '{continuation.workflow}' version {continuation.version} is not deployed here"
            return self._obey(Ruling(Action.HOLD, why, self._ports.clock.now() + UNKNOWN_HOLD), delivery, None)
        nonce = self._ports.nonces()
        phase = continuation.phase
        for _ in range(TRIES):
            now = self._ports.clock.now()
            lease = now + round((remaining() + LEASE_MARGIN) * 1000)
            answer = self._ports.store.update(writes.claim(continuation, phase, delivery.message_id, nonce, now, lease))
            head = answer if isinstance(answer, Head) else answer.head
            if head is not None and head.nonce == nonce:  # claimed now, or by an earlier try whose answer was lost
                return self._advance(head, phase, delivery, remaining)
            ruling = rule(head, delivery, now)
            if head is None or ruling.action is not Action.CLAIM:
                return self._obey(ruling, delivery, head)
            phase = head.phase  # the hint was old
        return Verdict.RETURN

    def _look_again(self, delivery: Delivery) -> Verdict:
        """After a lost lease: what the table of deliveries says now."""
        try:
            head = self._ports.store.read(delivery.continuation.execution)
            ruling = rule(head, delivery, self._ports.clock.now())
            return Verdict.RETURN if ruling.action is Action.CLAIM else self._obey(ruling, delivery, head)
        except StoreError:
            return Verdict.RETURN

    def _obey(self, ruling: Ruling, delivery: Delivery, head: Head | None) -> Verdict:
        logger.info("%s: %s", ruling.action.name.lower(), ruling.reason, extra=fields(delivery))
        now = self._ports.clock.now()
        if ruling.action is Action.HOLD:
            latest = delivery.received + MAX_HOLD
            self._ports.queue.hold(delivery.receipt, max(0, min(ruling.until, latest) - now) / 1000)
            return Verdict.RETURN
        if ruling.action is Action.RESEND and head is not None:
            self._ports.queue.send(
                continuation_of(head), delay=max(0, head.wake - now) / 1000 if head.parked(now) else 0
            )
        return Verdict.DELETE

    # --- a claimed execution ---------------------------------------------------------------------------------------

    def _advance(self, head: Head, phase: str, delivery: Delivery, remaining: Callable[[], float]) -> Verdict:
        if head.terminal:  # terminated before the claim's answer
            return Verdict.DELETE
        workflow = self._registry.find(head.workflow, head.version)
        if workflow is None:  # the message's hint was of an earlier execution of this id
            self._notice("unknown_workflow", delivery)
            return Verdict.RETURN
        claimed = Lease(self._ports, self._segments, head)
        self._fullest = max(self._fullest, remaining())
        budget = Budget(self._settings, remaining, self._fullest)
        scratch = self._vars.of(head.execution_id)
        runner = Runner(claimed, workflow, budget, self._ports, self._registry, scratch)
        if phase != head.phase or head.status in AT_REST:
            # A verb came in before the claim's answer: give the lease back, for the claim was not made for this.
            claimed.checkpoint(Checkpoint((), GiveBack()))
        elif phase == "rollback":
            Rollback(claimed, workflow, budget, self._ports, runner, self._drift(workflow)).run()
        else:
            self._forward(claimed, workflow, budget, runner)
        after = claimed.head
        if after.terminal:
            self._segments.forget(after.execution_id)
            self._vars.forget(after.execution_id)
            self._ports.observer.execution_ended(ended(after, claimed))
        followups.send_for(self._ports.queue, after, self._ports.clock.now())
        followups.forget(self._ports.queue, head, self._ports.clock.now())  # a message may have ended a long wait
        return Verdict.DELETE

    def _forward(self, claimed: Lease, workflow: Workflow[Any, Any, Any], budget: Budget, runner: Runner) -> None:
        """Replay and run until the execution suspends or ends, and record how."""
        while True:
            driver = ForwardDriver(claimed, workflow, budget, self._ports, runner)
            wanted = self._run(claimed, workflow, driver)
            if wanted is None:
                return
            try:
                claimed.checkpoint(wanted)
            except InboxChanged:
                continue
            runner.told()
            return

    def _run(self, claimed: Lease, workflow: Workflow[Any, Any, Any], driver: ForwardDriver) -> Checkpoint | None:
        """Run the user's function once; what is to be recorded, or None when a verb has taken the lease back."""
        head = claimed.head
        replay = Replay(
            head.execution_id,
            claimed.history,
            driver,
            now=head.claimed,
            created=head.created,
            drift=self._drift(workflow),
        )
        scope = Scope("", {})
        context: Context[Any] = Context(replay, scope, ExecutionLog(execution_fields(head), lambda: replay.live))
        output, error = None, None
        try:
            given = claimed.history.input
            output = workflow(context, claimed.history.value(given, workflow.input_type) if given is not None else None)
        except (Exception, SystemExit, GeneratorExit) as raised:
            error = raised
        except Interrupt as interrupt:
            if interrupt is replay.left:
                return self._left(interrupt, driver)
            raise
        finally:
            scope.open = False
        if replay.left is not None:  # user code caught what was to leave it
            return self._swallowed(driver) if isinstance(replay.left, Suspended) else self._left(replay.left, driver)
        try:
            replay.finish()
            if error is None:
                return Checkpoint([self._output(output, workflow)], End(Status.COMPLETED))
        except Diverged as divergence:
            return self._left(divergence, driver)
        except CodecError as refusal:
            error = refusal
        assert error is not None
        return Checkpoint([records.ending(EntryKind.CAUSE, error, self._ports.clock.now())], End(Status.FAILING))

    def _left(self, why: Interrupt, driver: ForwardDriver) -> Checkpoint | None:
        """What is to be recorded after an interrupt; a lost lease and a fault of the machinery go on up."""
        match why:
            case Suspended():
                return driver.last
            case Diverged(error=error):
                return Checkpoint(
                    [records.ending(EntryKind.DIVERGENCE, error, self._ports.clock.now())], End(Status.DIVERGED)
                )
            case _:
                raise why

    def _output(self, output: Any, workflow: Workflow[Any, Any, Any]) -> Entry:
        try:
            stored = codec.encode(output, workflow.output_type)
        except CodecError as error:
            raise CodecError(f"the workflow's output can't be stored: {error}", error.path) from error
        self._ports.values.checked(stored, "the workflow's output")
        now = self._ports.clock.now()
        return with_value(Entry(path="", kind=EntryKind.OUTPUT, started=now, ended=now), stored)

    def _swallowed(self, driver: ForwardDriver) -> Checkpoint | None:
        """User code caught the suspension: a failure, and never a success (D8). What had been done is recorded with it."""
        last = driver.last
        if last is None:
            return None
        error = SuspensionSwallowed(
            "the workflow caught the suspension of its execution: a bare `except` or `except BaseException` stands "
            "around a durable operation. Catch Exception instead, and let the rest pass."
        )
        cause = records.ending(EntryKind.CAUSE, error, self._ports.clock.now())
        return Checkpoint([*last.entries, cause], End(Status.FAILING), state=last.state)

    def _drift(self, workflow: Workflow[Any, Any, Any]) -> Drift:
        return workflow.drift or self._settings.drift

    def _notice(self, what: str, delivery: Delivery) -> None:
        continuation = delivery.continuation
        self._ports.observer.noticed(what, continuation.execution, continuation.workflow)


def ended(head: Head, claimed: Lease) -> ExecutionEnded:
    """What an observer is told of an execution that has ended."""
    rollbacks = claimed.history.rollbacks.values()
    outcome = (
        "none" if not rollbacks else "completed" if all(entry.failure is None for entry in rollbacks) else "failed"
    )
    return ExecutionEnded.of(head, outcome)


def execution_fields(head: Head) -> dict[str, object]:
    """What every log line of an execution carries."""
    return {"workflow": head.workflow, "execution": head.execution_id}


def fields(delivery: Delivery) -> dict[str, object]:
    """What a log line about a delivery carries."""
    continuation = delivery.continuation
    return {
        "workflow": continuation.workflow,
        "execution": continuation.execution,
        "revision": continuation.revision,
        "message_id": delivery.message_id,
    }
