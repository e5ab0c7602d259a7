"""The configuration of the deployed functions, read from their environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self, TypeVar

from durable.aws.settings import Schedules
from durable.errors import ConfigurationError
from durable.runtime.invocation.budget import Settings

T = TypeVar("T")

REQUIRED = {
    "DURABLE_TABLE": "the table's name",
    "DURABLE_QUEUE": "the URL of the queue of continuations",
    "DURABLE_REJECTED_QUEUE": "the URL of the queue for messages that no code can handle",
}


SCHEDULES = {
    "DURABLE_SCHEDULE_GROUP": "the name of the group of schedules",
    "DURABLE_SCHEDULE_ROLE": "the ARN of the role with which the scheduler sends",
    "DURABLE_QUEUE_ARN": "the ARN of the queue of continuations",
}


class Transport(StrEnum):
    """How continuations reach their queue."""

    SQS = "sqs"
    EVENTBRIDGE = "eventbridge"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The environment, read and checked."""

    table: str
    queue_url: str
    rejected_url: str
    settings: Settings
    service: str
    namespace: str
    transport: Transport = Transport.SQS
    bus: str = ""  # the name of the event bus
    schedules: Schedules | None = None  # None: what waits long is delivered early, and held
    bucket: str = ""  # the name of the bucket for what no item can hold
    workflows: tuple[str, ...] = ()  # the modules and packages that define the workflows

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Read and check the environment; raises ConfigurationError that names everything that is missing or wrong."""
        reading = _Reading(environment)
        table, queue_url, rejected_url = map(reading.required, REQUIRED)
        settings = Settings(
            steps=reading.value("DURABLE_STEPS", 1, _count, "a whole number from 1"),
            seconds=reading.value("DURABLE_SECONDS", None, _seconds, "a number of seconds, or empty"),
            inline_wait=reading.value("DURABLE_INLINE_WAIT", 1.0, _seconds, "a number of seconds"),
            drift=reading.value("DURABLE_DRIFT", "off", _drift, "off, warn or error"),
        )
        transport = reading.value("DURABLE_TRANSPORT", Transport.SQS, Transport, "sqs or eventbridge")
        bus = environment.get("DURABLE_BUS", "")
        if transport is Transport.EVENTBRIDGE and not bus:
            reading.wrong("DURABLE_TRANSPORT is eventbridge, and DURABLE_BUS (the name of the event bus) is missing")
        schedules = _schedules(reading.together(SCHEDULES), rejected_url)
        reading.check()
        return cls(
            table,
            queue_url,
            rejected_url,
            settings,
            service=environment.get("POWERTOOLS_SERVICE_NAME") or "durable",
            namespace=environment.get("POWERTOOLS_METRICS_NAMESPACE") or "Durable",
            transport=transport,
            bus=bus,
            schedules=schedules,
            bucket=environment.get("DURABLE_BUCKET", ""),
            workflows=_names(environment.get("DURABLE_WORKFLOWS", "")),
        )


class _Reading:
    """Reads variables, and collects what is wrong with any of them."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._missing: list[str] = []
        self._wrong: list[str] = []

    def required(self, name: str) -> str:
        text = self._environment.get(name, "")
        if not text:
            self._missing.append(f"{name} ({REQUIRED[name]})")
        return text

    def value(self, name: str, default: Any, parse: Callable[[str], Any], expected: str) -> Any:
        text = self._environment.get(name, "")
        if not text:
            return default
        try:
            return parse(text)
        except ValueError:
            self._wrong.append(f"{name} is {expected}, not {text!r}")
            return default

    def together(self, names: Mapping[str, str]) -> tuple[str, ...]:
        """Return the values of variables that are set together; empty when none is set."""
        values = tuple(self._environment.get(name, "") for name in names)
        if all(values) or not any(values):
            return values if all(values) else ()
        absent = [f"{name} ({what})" for (name, what), value in zip(names.items(), values, strict=True) if not value]
        present = [name for name, value in zip(names, values, strict=True) if value]
        self.wrong(f"{', '.join(present)} set without {', '.join(absent)}: long waits need all three, or none")
        return ()

    def wrong(self, what: str) -> None:
        self._wrong.append(what)

    def check(self) -> None:
        problems = [f"missing: {', '.join(self._missing)}"] if self._missing else []
        if problems := problems + self._wrong:
            raise ConfigurationError(
                f"the function's environment is incomplete; {'; '.join(problems)}. template.yaml sets all of it."
            )


def _schedules(values: tuple[str, ...], rejected_url: str) -> Schedules | None:
    """Return the settings of schedules; the queue of rejected messages is in the same account and Region as the other."""
    if not values:
        return None
    group, role, queue = values
    return Schedules(group, role, queue, f"{queue.rpartition(':')[0]}:{rejected_url.rpartition('/')[2]}")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError
    return count


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise ValueError
    return seconds


def _drift(text: str) -> str:
    if text not in ("off", "warn", "error"):
        raise ValueError
    return text
