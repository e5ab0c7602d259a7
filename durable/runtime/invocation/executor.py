"""One continuation: claim the execution, replay it to the next unexecuted step, run that, record it, go on (D1)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from durable.codec.formats import NewerFormat
from durable.engine.interrupts import Fault, LeaseLost
from durable.errors import StoreError
from durable.protocol import writes
from durable.protocol.checkpoint import Checkpoint, GiveBack
from durable.protocol.continuation import Delivery
from durable.protocol.delivery import Action, Ruling, Verdict, rule
from durable.protocol.head import AT_REST, Head
from durable.runtime import followups
from durable.runtime.events import ExecutionEnded, Incident, IncidentKind
from durable.runtime.invocation.budget import LEASE_MARGIN, Budget, Remaining, Settings
from durable.runtime.invocation.forward import Forward
from durable.runtime.invocation.invocation import Claimed, Invocation
from durable.runtime.invocation.rollback import Rollback
from durable.runtime.invocation.threads import BodyThreads
from durable.runtime.ports import Ports
from durable.runtime.registry import Registry
from durable.runtime.storage.cache import SegmentCache, VarsCache
from durable.runtime.storage.giving_back import give_back
from durable.runtime.storage.lease import Lease

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
        self._threads = BodyThreads()
        self._fullest = 0.0  # seconds: the most that an invocation of this process had

    def advance(self, delivery: Delivery, remaining: Callable[[], float]) -> Verdict:
        """What becomes of the message; a fault of the infrastructure returns it, and is never raised (D9, E6)."""
        time = Remaining(remaining)
        self._fullest = max(self._fullest, time.whole)
        try:
            return self._deliver(delivery, time)
        except LeaseLost:
            self._report(IncidentKind.LEASE_LOST, delivery)
            return self._look_again(delivery)
        except NewerFormat as newer:
            self._report(IncidentKind.NEWER_FORMAT, delivery)
            return self._obey(Ruling(Action.HOLD, str(newer), self._ports.clock.now() + UNKNOWN_HOLD), delivery, None)
        except (Fault, StoreError) as error:
            logger.warning("held after a fault of the infrastructure: %s", error, extra=fields(delivery))
            return Verdict.RETURN
        except Exception:  # a fault of this library: one execution's must not stop the others
            logger.exception("held after an unexpected error", extra=fields(delivery))
            return Verdict.RETURN

    # --- delivery --------------------------------------------------------------------------------------------------

    def _deliver(self, delivery: Delivery, remaining: Remaining) -> Verdict:
        continuation = delivery.continuation
        if self._registry.find(continuation.workflow, continuation.version) is None:
            self._report(IncidentKind.UNKNOWN_WORKFLOW, delivery)
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
            if ruling.action is Action.CLAIM:
                ruling = Ruling(Action.HOLD, "the execution may be claimed again")
            return self._obey(ruling, delivery, head)
        except StoreError:
            return Verdict.RETURN

    def _obey(self, ruling: Ruling, delivery: Delivery, head: Head | None) -> Verdict:
        logger.info("%s: %s", ruling.action.name.lower(), ruling.reason, extra=fields(delivery))
        now = self._ports.clock.now()
        if ruling.action is Action.HOLD:
            latest = delivery.received + MAX_HOLD
            self._ports.queue.hold(delivery.receipt, max(0, min(ruling.until, latest) - now) / 1000)
            return Verdict.RETURN
        if head is None or followups.obeyed(self._ports.store, self._ports.queue, head, ruling, now):
            return Verdict.DELETE
        return Verdict.RETURN

    # --- a claimed execution ---------------------------------------------------------------------------------------

    def _advance(self, head: Head, phase: str, delivery: Delivery, remaining: Remaining) -> Verdict:
        if head.terminal:  # terminated before the claim's answer
            return Verdict.DELETE
        lease = self._lease(head)
        workflow = self._registry.find(head.workflow, head.version)
        if workflow is None:  # the message's hint was of an earlier execution of this id
            self._report(IncidentKind.UNKNOWN_WORKFLOW, delivery)
            lease.release()
            return Verdict.RETURN
        claimed = Claimed(
            lease=lease,
            workflow=workflow,
            budget=Budget(self._settings, remaining, self._fullest),
            ports=self._ports,
            registry=self._registry,
            variables=self._vars.of(head.life),
            threads=self._threads,
            drift=workflow.drift or self._settings.drift,
        )
        if phase != head.phase or head.status in AT_REST:
            # A command came in before the claim's answer: give the lease back, for the claim was not made for this.
            lease.checkpoint(Checkpoint((), GiveBack(), rollback=phase == "rollback"))
        elif phase == "rollback":
            Rollback(Invocation(claimed, rollback=True)).run()
        else:
            Forward(Invocation(claimed, rollback=False)).run()
        after = lease.head
        if after.terminal:
            self._segments.forget(after.life)
            self._vars.forget(after.life)
            self._ports.observer.observe(ended(after, lease))
        followups.send_for(self._ports.queue, after, self._ports.clock.now())
        followups.forget(self._ports.queue, head, self._ports.clock.now())  # a message may have ended a long wait
        return Verdict.DELETE

    def _lease(self, head: Head) -> Lease:
        """Return the lease on a claimed execution; what newer code has recorded is given back as it is."""
        try:
            return Lease(self._ports, self._segments, head)
        except NewerFormat:
            give_back(self._ports, head)
            raise

    def _report(self, kind: IncidentKind, delivery: Delivery) -> None:
        continuation = delivery.continuation
        self._ports.observer.observe(Incident(kind, continuation.execution, continuation.workflow))


def ended(head: Head, lease: Lease) -> ExecutionEnded:
    """What an observer is told of an execution that has ended."""
    rollbacks = lease.history.rollbacks.values()
    outcome = (
        "none" if not rollbacks else "completed" if all(entry.failure is None for entry in rollbacks) else "failed"
    )
    return ExecutionEnded.of(head, outcome)


def fields(delivery: Delivery) -> dict[str, object]:
    """What a log line about a delivery carries."""
    continuation = delivery.continuation
    return {
        "workflow": continuation.workflow,
        "execution": continuation.execution,
        "revision": continuation.revision,
        "message_id": delivery.message_id,
    }
