"""Every five minutes: send continuations that were lost, and delete executions that have expired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from durable.functions.entry import entry
from durable.functions.events.deadline import Deadline
from durable.runtime.application import Application

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@entry
def handler(application: Application, event: Any, context: LambdaContext) -> dict[str, int]:
    """Return how many executions were sent a continuation or deleted."""
    return {"swept": application.sweeper.sweep(Deadline(context).left)}
