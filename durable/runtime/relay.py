"""The trigger of a rollback: it sends the continuation that rolls back, and does nothing else (R3, protocol rule 8)."""

from __future__ import annotations

from durable.runtime.continuation import Continuation
from durable.runtime.ports import Queue


class Relay:
    """Turns a change of status that the table's stream shows into a continuation."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def relay(self, execution_id: str, revision: int, workflow: str, version: int) -> None:
        """Bring an execution back that is failing or cancelling; raises StoreError. It never claims."""
        self._queue.send(
            Continuation(
                execution=execution_id, revision=revision, workflow=workflow, version=version, phase="rollback"
            )
        )
