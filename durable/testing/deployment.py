"""A template deployed in memory: its functions and event sources before a backend, under one virtual clock."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from types import TracebackType
from typing import Self

from durable.testing.backend import Backend, World
from durable.testing.clock import START, VirtualClock
from durable.testing.determinism.verification import Verification
from durable.testing.environment import ProcessEnvironment, installed
from durable.testing.faults import Faults
from durable.testing.functions import DeployedFunction
from durable.testing.invocations import Invocations
from durable.testing.lifetime import Lifetime
from durable.testing.runner import Build, Processes, Runner
from durable.testing.sources.pump import Pump
from durable.testing.sources.queue import QueuePoller
from durable.testing.sources.schedule import Schedule
from durable.testing.sources.stream import StreamReader
from durable.testing.template.definitions import QueueSource, ScheduleSource, StreamSource
from durable.testing.template.stack import REGION
from durable.testing.template.template import Template
from durable.testing.template.wiring import Search, find_wiring

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
        backend: Backend,
        environment: Mapping[str, str],
        start: datetime | None,
        build: Build,
    ) -> None:
        self.lifetime = Lifetime()
        self.clock = VirtualClock(start or START)
        self.invocations = Invocations()
        self.verification = Verification(self.clock)
        self.faults = Faults(self.invocations)
        self.environment = ProcessEnvironment()
        self.limit = LIMIT
        self._template = template
        self._backend = backend
        self._overrides = environment
        self.found = Search(template, None)
        self._build = build
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self.lifetime.open()
        with ExitStack() as opening:
            opening.callback(self.lifetime.close)
            opening.enter_context(installed(ENVIRONMENT))
            world = World(self._template, self.lifetime, self.clock, self.invocations, self.faults)
            self.services = opening.enter_context(self._backend(world))
            with self.services.traffic.unrecorded():  # what is imported may make calls
                self.found = find_wiring(self._template)
            self._assemble()
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
        root = self._template.path.parent
        self.functions = {
            definition.id: DeployedFunction(
                definition, REGION, root, self.clock, dict(self._overrides), self.environment
            )
            for definition in self.services.stack.functions.values()
        }
        self.processes = Processes(self.found.wiring, self._build)
        self.runner = Runner(
            self.functions, self.invocations, self.processes, self.services.traffic.recorded, limit=lambda: self.limit
        )
        self.pump = self._pump()

    def _pump(self) -> Pump:
        services, invoke = self.services, self.runner.invoke
        polling = self.lifetime.guarded(services.polling)  # a batch that was taken may be kept for longer
        queues, streams, schedules = [], [], []
        for source in (source for function in services.stack.functions.values() for source in function.sources):
            match source:
                case QueueSource():
                    queue = services.stack.queue_of(source.queue)
                    assert queue is not None, (
                        f"{source.function} polls {source.queue}, which the template does not make"
                    )
                    queues.append(QueuePoller(source, queue, polling, invoke))
                case StreamSource():
                    streams.append(StreamReader(source, services.feed(source), self.clock, invoke))
                case ScheduleSource():
                    schedules.append(Schedule(source, REGION, self.clock, invoke, began=self.clock.now()))
        return Pump(self.clock, services.mail, services.due, queues, streams, schedules, services.timers)
