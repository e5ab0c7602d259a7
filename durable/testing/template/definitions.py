"""What a template says of its functions, as plain values: handler, limits, environment, event sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from durable.errors import ConfigurationError
from durable.testing.template.intrinsics import Intrinsics
from durable.testing.template.template import FUNCTION, Resource, Template

REPORT_FAILURES = "ReportBatchItemFailures"


@dataclass(frozen=True, slots=True)
class QueueSource:
    """Lambda polls a queue for the function."""

    function: str
    queue: str  # ARN
    batch_size: int = 10
    partial_failures: bool = False


@dataclass(frozen=True, slots=True)
class StreamSource:
    """Lambda reads a table's stream for the function."""

    function: str
    stream: str  # ARN
    batch_size: int = 100
    partial_failures: bool = False
    bisect: bool = False
    maximum_retries: int | None = None  # None: for as long as the stream keeps the record
    starting_position: str = "TRIM_HORIZON"
    filters: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleSource:
    """EventBridge invokes the function at a rate."""

    function: str
    name: str
    every: timedelta
    input: str | None = None


EventSource = QueueSource | StreamSource | ScheduleSource


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """A function of the template, its environment resolved to the names of a stack."""

    id: str
    name: str
    arn: str
    handler: str
    timeout: timedelta
    memory: int
    environment: Mapping[str, str]
    sources: tuple[EventSource, ...]


def functions(template: Template, names: Mapping[str, Any]) -> tuple[FunctionDefinition, ...]:
    """The template's functions, in its order; names are those of `Stack.names`."""
    intrinsics = template.intrinsics(names)
    return tuple(_function(resource, names, intrinsics) for resource in template.resources(FUNCTION))


def _function(resource: Resource, names: Mapping[str, Any], intrinsics: Intrinsics) -> FunctionDefinition:
    properties = resource.properties

    def value(name: str, default: Any) -> Any:
        return intrinsics.resolve(properties.get(name, default))

    variables = value("Environment", {}).get("Variables", {})
    return FunctionDefinition(
        id=resource.id,
        name=names[resource.id],
        arn=names[f"{resource.id}.Arn"],
        handler=value("Handler", ""),
        timeout=timedelta(seconds=int(value("Timeout", 3))),
        memory=int(value("MemorySize", 128)),
        environment={name: str(setting) for name, setting in variables.items()},
        sources=tuple(
            _source(resource.id, event, declared["Type"], intrinsics.resolve(declared["Properties"]))
            for event, declared in properties.get("Events", {}).items()
            if declared["Type"] != "HttpApi"
        ),
    )


def _source(function: str, event: str, kind: str, properties: Mapping[str, Any]) -> EventSource:
    partial_failures = REPORT_FAILURES in properties.get("FunctionResponseTypes", ())
    match kind:
        case "SQS":
            return QueueSource(function, properties["Queue"], int(properties.get("BatchSize", 10)), partial_failures)
        case "DynamoDB":
            retries = int(properties.get("MaximumRetryAttempts", -1))
            return StreamSource(
                function,
                properties["Stream"],
                int(properties.get("BatchSize", 100)),
                partial_failures,
                bool(properties.get("BisectBatchOnFunctionError", False)),
                None if retries < 0 else retries,
                properties["StartingPosition"],
                tuple(json.loads(item["Pattern"]) for item in properties.get("FilterCriteria", {}).get("Filters", ())),
            )
        case "Schedule" | "ScheduleV2":
            expression = properties.get("Schedule") or properties["ScheduleExpression"]
            return ScheduleSource(function, f"{function}{event}", rate(expression), properties.get("Input"))
        case _:
            raise ConfigurationError(f"the function {function} has an event of type {kind}, which nothing here sends.")


def rate(expression: str) -> timedelta:
    """The period of rate(5 minutes)."""
    match expression.removeprefix("rate(").removesuffix(")").split():
        case [count, ("minute" | "minutes" | "hour" | "hours" | "day" | "days") as unit] if count.isdigit():
            return timedelta(**{unit.rstrip("s") + "s": int(count)})
    raise ConfigurationError(f"the schedule {expression!r} is no rate(n minutes | hours | days).")
