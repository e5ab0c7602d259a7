"""Act on the table's stream: send the continuation that rolls an execution back, or the event that a rollback has failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from durable.functions.entry import entry
from durable.functions.events import parsing
from durable.functions.events.batch import Answer, changes
from durable.functions.events.parsing import Record
from durable.protocol.head import TERMINAL
from durable.runtime.application import Application
from durable.runtime.upkeep.stream import RollbackFailed

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@entry
def handler(application: Application, event: Any, context: LambdaContext) -> Answer:
    """Send the continuation or the event for each record that the stream's filter let through."""

    def relay(record: Record) -> bool:
        change = parsing.change(record)
        of = (change.revision, change.workflow, change.version)
        if change.status in TERMINAL:
            application.relay.notify(RollbackFailed(change.execution_id, change.birth, *of, change.status))
        else:
            application.relay.relay(change.execution_id, *of)
        return True

    return changes(event, relay)
