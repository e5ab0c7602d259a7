"""What every function does around its work: log lines carry the invocation's keys, and metrics are written at its end."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from durable.aws.logging import process_logger
from durable.aws.metrics import MetricsObserver
from durable.functions import wiring
from durable.runtime.application import Application

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

T = TypeVar("T")


def entry(serve: Callable[[Application, Any, LambdaContext], T]) -> Callable[[Any, LambdaContext], T]:
    """Return a Lambda handler for a function that takes the application as its first argument."""

    @process_logger().inject_lambda_context
    @wraps(serve)
    def handler(event: Any, context: LambdaContext) -> T:
        application = wiring.application()
        try:
            return serve(application, event, context)
        finally:
            if isinstance(application.observer, MetricsObserver):
                application.observer.flush()

    return handler
