"""Dead letters: continuations that were received again and again, and never dealt with (protocol rule 11).

They prove nothing by themselves: throttling, a broken deploy and a missing permission burn receives too. So they are
counted, and the execution gets another chance, until it is plain that every attempt takes its process down.
"""

from __future__ import annotations

import logging

from durable.engine.entries import Entry, RollbackEntry, pack, unpack
from durable.engine.recorded import EntryStatus, ErrorRecord
from durable.errors import ErrorInfo, StoreError
from durable.protocol import writes
from durable.protocol.continuation import Delivery
from durable.protocol.delivery import Action, Verdict, rule
from durable.protocol.head import ENDING, Head, Status
from durable.protocol.updates import Refused, Update
from durable.runtime import followups
from durable.runtime.client.snapshot import look
from durable.runtime.events import ExecutionEnded, Incident, IncidentKind
from durable.runtime.invocation import records
from durable.runtime.invocation.executor import fields
from durable.runtime.ports import Ports
from durable.runtime.registry import Registry

logger = logging.getLogger("durable.runtime")

DELAY = 60_000  # milliseconds before the next try
CRASHES = 2  # dead letters that fail an execution which was claimed and never came to a checkpoint
LETTERS = 4  # dead letters that fail one of which nothing is known
POISONED = ErrorInfo(
    "DeadLettered",
    "its continuation was received until the queue gave up, again and again: each invocation died, or none could start. "
    "The function's logs have the reason",
)


class DeadLetters:
    """Handles dead letters."""

    def __init__(self, ports: Ports, registry: Registry) -> None:
        self._ports = ports
        self._registry = registry

    def handle(self, delivery: Delivery) -> Verdict:
        """Return what becomes of a dead letter; a fault of the infrastructure returns it to its queue."""
        try:
            return self._handle(delivery)
        except StoreError as error:
            logger.warning("a dead letter is left after a fault: %s", error, extra=fields(delivery))
            return Verdict.RETURN

    def _handle(self, delivery: Delivery) -> Verdict:
        head = self._ports.store.read(delivery.continuation.execution)
        for _ in range(5):
            now = self._ports.clock.now()
            ruling = rule(head, delivery, now)
            if head is None:
                return Verdict.DELETE
            if ruling.action is Action.HOLD and head.held(now):
                self._ports.queue.hold(delivery.receipt, max(0, ruling.until - now) / 1000)
                return Verdict.RETURN
            if ruling.action in (Action.DELETE, Action.RESEND):
                later = now + DELAY
                done = followups.obeyed(self._ports.store, self._ports.queue, head, ruling, now, not_before=later)
                return Verdict.DELETE if done else Verdict.RETURN
            answer = self._ports.store.update(self._decide(head, delivery, ruling.action, now))
            if not isinstance(answer, Refused):
                self._notify(head, answer, delivery)
                return Verdict.DELETE
            head = answer.head
        return Verdict.RETURN

    def _decide(self, head: Head, delivery: Delivery, action: Action, now: int) -> Update:
        known = self._registry.find(head.workflow, head.version) is not None
        if action is Action.HOLD or not known:  # it merely waits, or this deployment can't know: nothing is counted
            return writes.dead_letter(head, delivery.message_id, None, head.status, now, counted=False)
        dead = head.dead + 1
        if dead < (CRASHES if head.unaccounted else LETTERS):
            return writes.dead_letter(head, delivery.message_id, None, head.status, now, counted=True)
        end, entries = self._end(head, now)
        tail = pack([*unpack(head.tail), *entries])
        return writes.dead_letter(head, delivery.message_id, tail, end, now, counted=True)

    def _end(self, head: Head, now: int) -> tuple[Status, list[Entry]]:
        """Return how an execution goes on that no invocation can bring forward, and what is recorded of it."""
        if head.status not in ENDING:
            return Status.FAILING, [records.cause(POISONED, now)]
        entry = RollbackEntry(
            status=EntryStatus.FAILED,
            failure="exhausted",
            error=ErrorRecord.of(POISONED),
            started=now,
            ended=now,
        )
        if head.status is Status.CANCELLING:
            return Status.CANCELLED, [entry, records.cancellation(now)]
        cause = look(self._ports, head, None, lambda snapshot: snapshot.history.cause)
        cancelled = cause is not None and cause.cancelled
        return Status.CANCELLED if cancelled else Status.FAILED, [entry]

    def _notify(self, before: Head, head: Head, delivery: Delivery) -> None:
        ends = head.status is not before.status
        self._ports.observer.observe(Incident(IncidentKind.DEAD_LETTER, head.execution_id, head.workflow))
        if head.terminal:
            self._ports.observer.observe(ExecutionEnded.of(head, "failed"))
        elif not ends:  # what has just begun to fail is sent by the trigger of its rollback
            self._send(head, self._ports.clock.now())
        dead = before.dead + 1 if ends else head.dead
        level = logging.ERROR if dead else logging.INFO
        logger.log(level, "dead letter (%d in a row): the execution is %s", dead, head.status, extra=fields(delivery))

    def _send(self, head: Head, now: int) -> None:
        followups.send_again(self._ports.queue, head, now, not_before=now + DELAY)
