"""A template deployed in memory: its stack in an emulator, its functions, its event sources, under one virtual clock."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from functools import cache
from types import TracebackType
from typing import Any, Self

from durable.testing.aws.calls import Traffic
from durable.testing.aws.emulator import Emulator
from durable.testing.aws.mail import Mail
from durable.testing.aws.metering import Meter
from durable.testing.aws.permissions import Permissions
from durable.testing.aws.watch import Watch
from durable.testing.aws.wire import tapped
from durable.testing.clock import START, VirtualClock
from durable.testing.faults import Faults
from durable.testing.functions import DeployedFunction, installed
from durable.testing.invocations import Invocations
from durable.testing.lifetime import Lifetime
from durable.testing.pump import Pump
from durable.testing.runner import Build, Processes, Runner
from durable.testing.sources.queue import QueuePoller
from durable.testing.sources.schedule import Schedule
from durable.testing.sources.stream import StreamReader
from durable.testing.sources.timers import Timers
from durable.testing.template.definitions import QueueSource, ScheduleSource, StreamSource
from durable.testing.template.stack import REGION, Stack
from durable.testing.template.template import Template
from durable.testing.wiring import Search, find_wiring

LIMIT = 100_000  # invocations of one harness, after which a run is taken to be endless

ENVIRONMENT: Mapping[str, str | None] = {
    "AWS_ACCESS_KEY_ID": "testing",  # nobody's own keys, profile or endpoint
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_SESSION_TOKEN": "testing",
    "AWS_PROFILE": None,
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_ENDPOINT_URL": None,
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",  # of the endpoints with the account in them, moto does not know the streams'
}


class Deployment:
    """The parts of a harness, bound together while it is entered."""

    def __init__(
        self,
        template: Template,
        *,
        emulator: Emulator,
        environment: Mapping[str, str],
        start: datetime | None,
        build: Build,
    ) -> None:
        self.lifetime = Lifetime()
        self.clock = VirtualClock(start or START)
        self.invocations = Invocations()
        self.faults = Faults(self.invocations)
        self.limit = LIMIT
        self._template = template
        self._emulator = emulator
        self._overrides = environment
        self.found = Search(template, None)
        self._build = build
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self.lifetime.open()
        with ExitStack() as opening:
            opening.callback(self.lifetime.close)
            opening.enter_context(installed(ENVIRONMENT))
            opening.enter_context(self._emulator.running())
            opening.enter_context(self.clock)
            self.stack = Stack.create(
                self._template,
                _client("dynamodb"),
                _client("sqs"),
                events=_client("events"),
                scheduler=_client("scheduler"),
                s3=_client("s3"),
            )
            self.found = find_wiring(self._template)  # in here, for what is imported may make calls
            self._assemble()
            opening.enter_context(tapped(self.traffic.carry))
            self._open = opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lifetime.close()  # first: a thread that goes on must not meet a half that is still there
        if self.found.wiring is not None:
            self.found.wiring.install(None)
        self._open.__exit__(kind, error, trace)

    def _assemble(self) -> None:
        self.meter = Meter(self.stack.tables, self._emulator.item)
        self.watch = Watch(self.meter, self._emulator.item)
        self.mail = Mail(self.clock, self.stack.queues, self._emulator.messages)
        self.permissions = Permissions(self._template, self.stack)
        self.traffic = Traffic(
            self.clock,
            self.invocations,
            self.permissions,
            self.faults,
            self.mail,
            self.meter,
            self.watch,
            self.lifetime,
        )
        self.timers = self.traffic.timers = self._timers()
        self.functions = {
            definition.id: DeployedFunction(
                definition, REGION, self._template.path.parent, self.clock, dict(self._overrides)
            )
            for definition in self.stack.functions.values()
        }
        self.processes = Processes(self.found.wiring, self._build)
        self.runner = Runner(
            self.functions, self.invocations, self.processes, self.traffic.recorded, limit=lambda: self.limit
        )
        self.pump = self._pump()

    def _timers(self) -> Timers:
        timers = Timers(self.clock, self.stack.queues, _client("sqs"), _client("scheduler"), self.traffic.unrecorded)
        for settings in self.stack.schedules:
            timers.add((settings.get("GroupName", "default"), settings["Name"]), settings)
        return timers

    def _pump(self) -> Pump:
        queues, streams, schedules = [], [], []
        invoke, unrecorded = self.runner.invoke, self.traffic.unrecorded
        for source in (source for function in self.stack.functions.values() for source in function.sources):
            match source:
                case QueueSource():
                    queue = self.stack.queue_of(source.queue)
                    assert queue is not None, (
                        f"{source.function} polls {source.queue}, which the template does not make"
                    )
                    queues.append(QueuePoller(source, queue, REGION, _client("sqs"), self.mail, invoke, unrecorded))
                case StreamSource():
                    streams.append(
                        StreamReader(source, REGION, _client("dynamodbstreams"), self.clock, invoke, unrecorded)
                    )
                case ScheduleSource():
                    schedules.append(Schedule(source, REGION, self.clock, invoke, began=self.clock.now()))
        return Pump(self.clock, self.mail, self.watch, queues, streams, schedules, self.timers)


@cache
def _client(service: str) -> Any:
    """A client of the harness's own; making one takes 25 ms, so all harnesses of a process share them."""
    import boto3

    session: Any = boto3.Session("testing", "testing", region_name=REGION)
    return session.client(service)
