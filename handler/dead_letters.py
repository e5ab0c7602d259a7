"""Continuations that were received too often: the execution gets another chance, or is failed and rolled back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from durable.aws import events
from durable.aws.batch import Answer, messages
from durable.aws.events import Record
from durable.runtime.application import Application
from durable.runtime.delivery import Verdict
from handler.entry import entry
from handler.rejection import rejecting

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@entry
def handler(application: Application, event: Any, context: LambdaContext) -> Answer:
    """Bury the dead letters of a batch; the queue has no dead letters of its own, so what fails comes back."""
    received = application.clock.now()

    def bury(record: Record) -> bool:
        return application.dead_letters.bury(events.delivery(record, received)) is Verdict.DELETE

    return messages(event, bury, rejecting(application))
