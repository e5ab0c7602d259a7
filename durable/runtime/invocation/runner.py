"""Runs one execution's bodies in one invocation: each attempt with its reach, its log, and what is told of it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from durable.api.calls import StepCall
from durable.api.document import Document
from durable.api.log import ExecutionLog
from durable.api.retry import Retry
from durable.api.step import Access
from durable.api.workflow import Workflow
from durable.engine.entries import Entry
from durable.engine.identities import forward_key, rollback_key
from durable.runtime.invocation import records
from durable.runtime.invocation.attempts import Attempt, Result
from durable.runtime.invocation.budget import Budget
from durable.runtime.invocation.services import Reach
from durable.runtime.ports import Ports, StepEnded
from durable.runtime.registry import Registry
from durable.runtime.storage.lease import Lease, WriteRefused


class Subject(Struct, frozen=True):
    """What a body is given first: a Step or an Undo, made for one attempt."""

    kind: str  # Step or Undo, for messages
    make: Callable[[Access, int, str], object]  # of the access, the attempt's number and the idempotency key


class Task(Struct, frozen=True):
    """A body to run: the step's, or its rollback's."""

    call: StepCall
    function: Callable[..., Any]
    subject: Subject
    retry: Retry
    timeout: float | None
    annotation: Any  # of the result; None: the result is not kept
    rollback: bool

    @property
    def what(self) -> str:
        """For messages."""
        step = f"step '{self.call.path}'"
        return f"the rollback of {step}" if self.rollback else step


class Runner:
    """Runs attempts. What an observer is told of one waits until it is recorded."""

    def __init__(
        self,
        claimed: Lease,
        workflow: Workflow[Any, Any, Any],
        budget: Budget,
        ports: Ports,
        registry: Registry,
        scratch: dict[str, Any],
    ) -> None:
        self._claimed = claimed
        self._workflow = workflow
        self._budget = budget
        self._ports = ports
        self._registry = registry
        self._scratch = scratch
        self._event: StepEnded | None = None
        self._attempt: Attempt | None = None
        self._started = 0

    def run(self, task: Task, entry: Entry) -> tuple[Entry, Result]:
        """Run the next attempt; the entry after it, and its result."""
        head, path = self._claimed.head, task.call.path
        number = records.number_of(entry)
        key = (rollback_key if task.rollback else forward_key)(head.execution_id, head.run, path)
        self._attempt = Attempt(
            what=task.what,
            seed=f"{head.execution_id}:{entry.kind}:{path}",
            function=task.function,
            subject=task.subject.kind,
            arguments=task.call.arguments,
            annotation=task.annotation,
            number=number,
            retry=task.retry,
            limit=self._budget.limit(task.timeout),
            cut=self._budget.cuts(task.timeout) and not task.call.at_most_once,
            values=self._ports.values,
        )
        fields = {"workflow": head.workflow, "execution": head.execution_id, "step": path, "attempt": number}
        log = ExecutionLog({**fields, "rollback": True} if task.rollback else fields)
        document = Document(self._claimed.stored_state, self._workflow.state)
        reach = Reach(self._ports, self._registry, head.execution_id, head.workflow, key)
        self._ports.observer.body_started(head.execution_id, path, number, rollback=task.rollback)
        self._started = self._ports.clock.now()
        result = self._attempt.run(
            lambda access: task.subject.make(access, number, key), document, self._scratch, log, reach
        )
        self._budget.done += 1
        return self._after(entry, result), result

    def refused(self, refusal: WriteRefused, entry: Entry, result: Result) -> tuple[Entry, Result]:
        """What becomes of the attempt that has just run, when its own writes were refused: it has failed (S10)."""
        assert self._attempt is not None
        failed = self._attempt.refused(refusal, result.state)
        return self._after(entry, failed), failed

    def exhausted(self, entry: Entry) -> Entry:
        """The entry of a step whose attempts were used up by crashes (S4)."""
        failed = records.exhausted(entry, self._ports.clock.now())
        self._event = records.event(self._claimed.head, failed, failed.charged, 0.0)
        return failed

    def told(self) -> None:
        """Tell the observer of the attempt that has been recorded."""
        if self._event is not None:
            self._ports.observer.step_ended(self._event)
        self._event = None

    def _after(self, entry: Entry, result: Result) -> Entry:
        now = self._ports.clock.now()
        known = records.after(entry, result, self._started, now)
        length = (now - self._started) / 1000
        self._event = records.event(self._claimed.head, known, records.number_of(entry), length)
        return known
