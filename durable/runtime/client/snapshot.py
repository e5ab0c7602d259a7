"""One consistent look at an execution: its head, and what that head names.

An execution may go on while it is looked at, and deletes what it replaces. So a look is taken again, at a newer head,
when something that the head names is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from durable.api.document import Document
from durable.api.workflow import AnyWorkflow
from durable.engine.entries import unpack
from durable.engine.history import History
from durable.errors import CodecError, ErrorInfo, ExecutionNotFound, StoreError
from durable.protocol.expiry import expired
from durable.protocol.head import Head, Status
from durable.runtime.client.history_view import (
    HistoryEntry,
    RollbackOutcome,
    failure_of,
    recorded_value,
    rollback_outcome,
    shown,
)
from durable.runtime.ports import Ports

T = TypeVar("T")
TRIES = 5


class Snapshot:
    """An execution as one head shows it. Each part is read when it is first asked for; StoreError when it is gone."""

    def __init__(self, ports: Ports, head: Head, workflow: AnyWorkflow | None) -> None:
        self.head = head
        self._ports = ports
        self._workflow = workflow  # None: its code is not here, and values have no type

    @cached_property
    def history(self) -> History:
        """The whole history."""
        sealed = self._ports.store.segments(self.head, 0) if self.head.segment else []
        entries = [*(entry for segment in sealed for entry in unpack(segment.entries)), *unpack(self.head.tail)]
        return History(entries)

    @cached_property
    def document(self) -> Document:
        """The durable document."""
        head = self.head
        stored = self._ports.values.kept(head.execution_id, head.state_at) if head.state_at else head.state
        return Document(lambda: stored, None if self._workflow is None else self._workflow.state, CodecError)

    @property
    def state(self) -> Any:
        """The value of the document."""
        return self.document.value

    @property
    def output(self) -> Any:
        """What the workflow has returned; None unless the execution has completed."""
        output = self.history.output
        if output is None or self.head.status is not Status.COMPLETED:
            return None
        return recorded_value(output, self._fetch, Any if self._workflow is None else self._workflow.output_type)

    @property
    def error(self) -> ErrorInfo | None:
        """Why it failed, was cancelled, or diverged."""
        return failure_of(self.head, self.history)

    @property
    def entries(self) -> list[HistoryEntry]:
        """The history as people read it."""
        return shown(self.history, self._fetch)

    @property
    def rollback(self) -> RollbackOutcome:
        """What became of its rollback."""
        return rollback_outcome(self.head, self.history)

    def _fetch(self, reference: str) -> bytes:
        return self._ports.values.kept(self.head.execution_id, reference)


def current(ports: Ports, execution_id: str) -> Head:
    """Return the head of an execution as it is now; raises ExecutionNotFound for one that has expired, too."""
    head = ports.store.read(execution_id)
    if head is None or expired(head, ports.clock.now()):
        raise ExecutionNotFound(f"there is no execution '{execution_id}', or it has expired")
    return head


def look(ports: Ports, head: Head, workflow: AnyWorkflow | None, at: Callable[[Snapshot], T]) -> T:
    """Return what is found at this head or, when what it names is deleted meanwhile, at a newer one."""
    for _ in range(TRIES):
        try:
            return at(Snapshot(ports, head, workflow))
        except StoreError:
            again = ports.store.read(head.execution_id)
            if again is None or again == head:
                raise
            head = again
    return at(Snapshot(ports, head, workflow))
