"""A deployed function, invoked as Lambda's Python runtime does: environment, context object, JSON in and out."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from durable.errors import ConfigurationError
from durable.runtime.ports import Clock
from durable.testing.environment import ProcessEnvironment
from durable.testing.template.definitions import FunctionDefinition

Handler = Callable[[Any, "LambdaContext"], Any]

_DAY = 86_400_000  # milliseconds


@dataclass(frozen=True, slots=True)
class LambdaContext:
    """The context object that a handler gets, of the true shape."""

    function_name: str
    invoked_function_arn: str
    memory_limit_in_mb: str
    aws_request_id: str
    log_group_name: str
    log_stream_name: str
    deadline: int  # milliseconds since the epoch
    clock: Clock
    function_version: str = "$LATEST"
    identity: None = None
    client_context: None = None
    tenant_id: None = None

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda stops the process."""
        return max(0, self.deadline - self.clock.now())


@dataclass(frozen=True, slots=True)
class DeployedFunction:
    """A function of the template that can be invoked; its handler is imported at the first invocation."""

    definition: FunctionDefinition
    region: str
    root: Path  # the template's folder: where the handler's package is
    clock: Clock
    overrides: Mapping[str, str] = field(default_factory=dict)
    process: ProcessEnvironment = field(default_factory=ProcessEnvironment)

    @property
    def id(self) -> str:
        """The function's logical id."""
        return self.definition.id

    @property
    def environment(self) -> dict[str, str]:
        """The template's variables and those that Lambda sets."""
        definition = self.definition
        lambda_variables = {
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_LAMBDA_FUNCTION_NAME": definition.name,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(definition.memory),
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_GROUP_NAME": self._log_group,
            "AWS_LAMBDA_LOG_STREAM_NAME": self._log_stream,
            "_HANDLER": definition.handler,
            "POWERTOOLS_TRACE_DISABLED": "true",  # there is no daemon to take the traces
        }
        return {**lambda_variables, **definition.environment, **self.overrides}

    @property
    def _log_group(self) -> str:
        return f"/aws/lambda/{self.definition.name}"

    @property
    def _log_stream(self) -> str:
        return _log_stream(self.clock.now() // _DAY)

    def handler(self) -> Handler:
        """The callable that the template's Handler string names."""
        return load_handler(self.definition.handler, self.root)

    def context(self) -> LambdaContext:
        """The context of an invocation that begins now."""
        definition = self.definition
        return LambdaContext(
            function_name=definition.name,
            invoked_function_arn=definition.arn,
            memory_limit_in_mb=str(definition.memory),
            aws_request_id=str(uuid4()),
            log_group_name=self._log_group,
            log_stream_name=self._log_stream,
            deadline=self.clock.now() + definition.timeout // timedelta(milliseconds=1),
            clock=self.clock,
        )

    def invoke(self, event: Any, context: LambdaContext | None = None) -> Any:
        """The handler's answer to the event. Both pass through JSON, as they do on their way to and from Lambda."""
        with self.process.of(self.environment):
            answer = self.handler()(json.loads(json.dumps(event)), context or self.context())
            return json.loads(json.dumps(answer))


@cache
def _log_stream(day: int) -> str:
    return f"{datetime.fromtimestamp(day * _DAY / 1000, UTC):%Y/%m/%d}/[$LATEST]{'0' * 32}"


def load_handler(name: str, root: Path) -> Handler:
    """The callable of a Handler string such as `handler.worker.handler`, from the project at root."""
    module_name, _, attribute = name.rpartition(".")
    handler = getattr(load_module(module_name, root), attribute, None)
    if not callable(handler):
        raise ConfigurationError(
            f"the template's Handler {name!r}: module {module_name} has no function {attribute!r}."
        )
    return cast(Handler, handler)


def load_module(name: str, root: Path) -> Any:
    """A module of the project at root, imported as Lambda would import it."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            raise ConfigurationError(
                f"there is no module {name} in {root}: the template's Handler names it."
            ) from error
        raise
