"""One claimed execution in one invocation: what its forward and its rollback direction share."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from durable.api.calls import Drift
from durable.api.workflow import AnyWorkflow
from durable.engine.entries import Entry
from durable.engine.outcomes import Diverged, Done, Failed, NeedsMessages, NeedsValue, Parked, Ready, Replies
from durable.engine.replay import Replay, Settings
from durable.errors import HistoryDiverged
from durable.protocol.checkpoint import Checkpoint, End
from durable.protocol.head import Head, Status
from durable.runtime.events import Incident, IncidentKind, StepEnded
from durable.runtime.invocation import records
from durable.runtime.invocation.budget import Budget
from durable.runtime.invocation.threads import BodyThreads
from durable.runtime.ports import Ports
from durable.runtime.registry import Registry
from durable.runtime.storage.lease import Lease

logger = logging.getLogger("durable.runtime")

Driven = Ready | Parked | Done | Failed | Diverged


class Claimed(Struct, frozen=True):
    """What an invocation works with once it has claimed an execution."""

    lease: Lease
    workflow: AnyWorkflow
    budget: Budget
    ports: Ports
    registry: Registry
    variables: dict[str, Any]  # `step.vars`
    threads: BodyThreads
    drift: Drift


class Invocation:
    """Replays the execution's code and records what comes of it. Every method may raise LeaseLost or Fault."""

    def __init__(self, claimed: Claimed, *, rollback: bool) -> None:
        self.lease = claimed.lease
        self.workflow = claimed.workflow
        self.budget = claimed.budget
        self.ports = claimed.ports
        self.registry = claimed.registry
        self.variables = claimed.variables
        self.threads = claimed.threads
        self.rollback = rollback
        # An earlier claim of this direction ended without a checkpoint: its process died.
        self.crashed = (self.head.undoing if rollback else self.head.claims) > 1
        self.ended: StepEnded | None = None  # what is notified once it is recorded
        self._drift: Drift = claimed.drift

    @property
    def head(self) -> Head:
        """The head as last seen."""
        return self.lease.head

    def now(self) -> int:
        """Return the time, in milliseconds since the epoch."""
        return self.ports.clock.now()

    def replay(self) -> Replay:
        """Return a new replay of the execution: one that runs it, or one that collects its rollbacks."""
        head = self.head
        settings = Settings(
            execution_id=head.execution_id,
            created=head.created,
            now=(head.claimed or head.created) if self.rollback else head.claimed,
            fields=execution_fields(head),
            check=self.ports.values.checked,
            drift=self._drift,
            collecting=self.rollback,
        )
        return Replay(self.workflow, self.lease.history, settings)

    def drive(self, replay: Replay) -> Driven:
        """Advance a replay, and give it what it needs, until a body is ready or the code waits or has ended."""
        while True:
            outcome = replay.advance(self.now())
            for note in replay.take_notes():
                self.lease.note(note.entry, first=note.first)
            self._report_drift(replay)
            match outcome:
                case NeedsValue(reference):
                    replay.provide(self.lease.fetch(reference))
                case NeedsMessages(queues, count):
                    replay.provide(self.lease.messages(queues, count))
                case Replies(message, response):
                    self.lease.reply(message, response)
                case _:
                    return outcome

    def record(self, wanted: Checkpoint) -> bool:
        """Write a checkpoint. Return whether this invocation goes on: a command that came in may have the lease given back.

        Raises InboxChanged and WriteRefused besides.
        """
        head = self.lease.checkpoint(wanted)
        self.crashed = False  # it is accounted for
        self._notify()
        if not wanted.keep:
            return False
        return head.status is wanted.status

    def diverge(self, error: HistoryDiverged, entries: Sequence[Entry] = ()) -> None:
        """Record that the code does not match the history: the execution rests until somebody resumes it."""
        self.record(
            Checkpoint([*entries, records.divergence(error, self.now())], End(Status.DIVERGED), rollback=self.rollback)
        )
        logger.error("the execution diverged: %s", error, exc_info=error.__cause__, extra=execution_fields(self.head))

    def _notify(self) -> None:
        """Notify the observer of the attempt that has been recorded."""
        if self.ended is not None:
            self.ports.observer.observe(self.ended)
        self.ended = None

    def _report_drift(self, replay: Replay) -> None:
        for _ in replay.drifted:
            self.ports.observer.observe(Incident(IncidentKind.DRIFT, self.head.execution_id, self.head.workflow))
        replay.drifted.clear()


def execution_fields(head: Head) -> Mapping[str, object]:
    """Return what every log line of an execution carries."""
    return {"workflow": head.workflow, "execution": head.execution_id}
