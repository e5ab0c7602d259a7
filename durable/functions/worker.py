"""Handle continuations from the queue: each moves its execution on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from durable.functions.entry import entry
from durable.functions.events import parsing
from durable.functions.events.batch import Answer, messages
from durable.functions.events.deadline import Deadline
from durable.functions.events.parsing import Record
from durable.functions.events.rejection import rejecting
from durable.protocol.delivery import Verdict
from durable.runtime.application import Application

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@entry
def handler(application: Application, event: Any, context: LambdaContext) -> Answer:
    """Advance the executions of a batch; only the messages that are held or failed come back."""
    received, deadline = application.clock.now(), Deadline(context)

    def advance(record: Record) -> bool:
        delivery = parsing.delivery(record, received)
        if (
            deadline.is_near()
        ):  # a step that starts now might lack the time that it needs: give the message back, for another invocation
            application.queue.hold(delivery.receipt, 0)
            return False
        return application.executor.advance(delivery, deadline.left) is Verdict.DELETE

    return messages(event, advance, rejecting(application))
