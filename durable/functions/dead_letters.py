"""Continuations that were received too often: the execution gets another chance, or is failed and rolled back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from durable.functions.entry import entry
from durable.functions.events import parsing
from durable.functions.events.batch import Answer, messages
from durable.functions.events.parsing import Record
from durable.functions.events.rejection import rejecting
from durable.protocol.delivery import Verdict
from durable.runtime.application import Application

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@entry
def handler(application: Application, event: Any, context: LambdaContext) -> Answer:
    """Handle the dead letters of a batch; the queue has no dead letters of its own, so what fails comes back."""
    received = application.clock.now()

    def handle(record: Record) -> bool:
        return application.dead_letters.handle(parsing.delivery(record, received)) is Verdict.DELETE

    return messages(event, handle, rejecting(application))
