"""What follows a change that the table's stream shows: the continuation that rolls back, the event that nobody may miss."""

from __future__ import annotations

import msgspec

from durable.errors import ConfigurationError
from durable.protocol.continuation import Continuation
from durable.runtime.ports import Publisher, Queue

SOURCE = "durable"
ROLLBACK_FAILED = "rollback-failed"  # the detail-type


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

    def tell(self, execution_id: str, revision: int, workflow: str, version: int, status: str) -> None:
        """Publish that a rollback has failed: at least once, with an `id` by which it is taken once (R10).

        Raises StoreError, and ConfigurationError where no bus is configured.
        """
        if self._publisher is None:
            raise ConfigurationError("no event bus is configured: set DURABLE_BUS, or deploy the template with its bus")
        envelope = {
            "id": f"{execution_id}:{revision}",
            "execution": execution_id,
            "workflow": workflow,
            "detail": {"status": status, "version": version},
        }
        self._publisher.publish(ROLLBACK_FAILED, SOURCE, msgspec.json.encode(envelope).decode())
