"""Starts from the start queue. A repeated message is one execution: its id is the message's, unless it brings one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from durable import AlreadyStarted, CodecError, InvalidInput, InvalidName, WorkflowNotFound
from durable.aws import events
from durable.aws.batch import Answer, messages
from durable.aws.events import Record
from durable.aws.starts import input_of, start_message
from durable.runtime.application import Application
from durable.runtime.continuation import UnreadableMessage
from handler.entry import entry
from handler.rejection import rejecting

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@entry
def handler(application: Application, event: Any, context: LambdaContext) -> Answer:
    """Start the executions of a batch; a start that no workflow can take is rejected with the reason."""

    def start(record: Record) -> bool:
        message = start_message(record)
        execution_id = message.execution_id or events.message_id(record)
        data = input_of(bytes(message.input))
        try:
            application.client.start_named(message.workflow, data, execution_id=execution_id, version=message.version)
        except (AlreadyStarted, CodecError, InvalidInput, InvalidName, WorkflowNotFound) as error:
            raise UnreadableMessage(f"{type(error).__name__}: {error}") from error
        return True

    return messages(event, start, rejecting(application))
