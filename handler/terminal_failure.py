"""The table's stream tells that an execution is failing or cancelling: it is sent for. Or that its rollback has failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from durable.aws import events
from durable.aws.batch import Answer, changes
from durable.aws.events import Record
from durable.runtime.application import Application
from durable.runtime.head import TERMINAL
from handler.entry import entry

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@entry
def handler(application: Application, event: Any, context: LambdaContext) -> Answer:
    """Send the continuation that rolls back, or the event, for each record that the stream's filter let through."""

    def relay(record: Record) -> bool:
        change = events.change(record)
        of = (change.execution_id, change.revision, change.workflow, change.version)
        if change.status in TERMINAL:
            application.relay.tell(*of, change.status)
        else:
            application.relay.relay(*of)
        return True

    return changes(event, relay)
