"""What follows a change that the table's stream shows: the continuation that rolls back, the event that nobody may miss."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from durable.errors import ConfigurationError
from durable.protocol.continuation import Continuation
from durable.runtime.ports import Publisher, Queue

SOURCE = "durable"
ROLLBACK_FAILED = "rollback-failed"  # the detail-type


class RollbackFailed(Struct, frozen=True):
    """An execution that has ended, and whose rollback has failed."""

    execution_id: str
    birth: int  # 0: it is not known
    revision: int
    workflow: str
    version: int
    status: str


class Relay:
    """Turns a change of an execution's head into what is sent. It never claims and never writes (protocol rule 8)."""

    def __init__(self, queue: Queue, publisher: Publisher | None = None) -> None:
        self._queue = queue
        self._publisher = publisher

    def relay(self, execution_id: str, revision: int, workflow: str, version: int) -> None:
        """Bring an execution back that is failing or cancelling (R3); raises StoreError."""
        self._queue.send(
            Continuation(
                execution=execution_id, revision=revision, workflow=workflow, version=version, phase="rollback"
            )
        )

    def notify(self, change: RollbackFailed) -> None:
        """Publish that a rollback has failed: at least once, with an `id` by which it is taken once (R10).

        Raises StoreError, and ConfigurationError where no bus is configured.
        """
        if self._publisher is None:
            raise ConfigurationError("no event bus is configured: set DURABLE_BUS, or deploy the template with its bus")
        life = f"{change.execution_id}:{change.birth}" if change.birth else change.execution_id  # an id is used again
        envelope = {
            "id": f"{life}:{change.revision}",
            "execution": change.execution_id,
            "workflow": change.workflow,
            "detail": {"status": change.status, "version": change.version},
        }
        self._publisher.publish(ROLLBACK_FAILED, SOURCE, msgspec.json.encode(envelope).decode())
