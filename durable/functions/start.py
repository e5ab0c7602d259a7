"""Start executions, from the start queue or from EventBridge events. A repeated request has the same id, and is one execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from durable import AlreadyStarted, CodecError, InvalidInput, InvalidName, WorkflowNotFound
from durable.functions.entry import entry
from durable.functions.events import parsing
from durable.functions.events.batch import Answer, messages
from durable.functions.events.parsing import Record
from durable.functions.events.rejection import rejecting
from durable.functions.events.starts import input_of, start
from durable.protocol.continuation import UnreadableMessage
from durable.runtime.application import Application

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@entry
def handler(application: Application, event: Any, context: LambdaContext) -> Answer | None:
    """Start what is asked for; a start that no workflow can take is rejected with the reason."""
    reject = rejecting(application)
    if parsing.is_batch(event):
        return messages(event, lambda record: _of_message(application, record), reject)
    text = msgspec.json.encode(event).decode()
    try:
        _start(application, text, context.aws_request_id)  # a fault is raised: Lambda tries an event again
    except UnreadableMessage as reason:
        reject(text, str(reason))
    return None


def _of_message(application: Application, record: Record) -> bool:
    _start(application, parsing.body(record), parsing.message_id(record))
    return True


def _start(application: Application, text: str, identity: str) -> None:
    wanted, execution_id = start(text, identity)
    data = input_of(bytes(wanted.input))
    try:
        application.client.start_named(wanted.workflow, data, execution_id=execution_id, version=wanted.version)
    except (AlreadyStarted, CodecError, InvalidInput, InvalidName, WorkflowNotFound) as error:
        raise UnreadableMessage(f"{type(error).__name__}: {error}") from error
