"""The harness: what users test with. It is a client, and runs what the template deploys."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

from durable.errors import ConfigurationError, InvalidCall
from durable.runtime.application import Application, assemble
from durable.runtime.client.client import Client
from durable.runtime.ports import Observer
from durable.testing.aws.emulator import Emulator
from durable.testing.aws.moto import Moto
from durable.testing.aws.permissions import Permissions
from durable.testing.calls import Call
from durable.testing.choices import backend_of, chosen_store, chosen_transport
from durable.testing.clock import VirtualClock, seconds
from durable.testing.deployment import Deployment
from durable.testing.doubles import BodyObserver, VirtualProcess
from durable.testing.faults import Faults
from durable.testing.invocations import Invocation
from durable.testing.lifetime import NotEntered, Phase
from durable.testing.runner import EndlessRun
from durable.testing.sources.messages import Message
from durable.testing.sources.pump import SWEEPER
from durable.testing.sources.queue import Batch
from durable.testing.sources.timers import Timer
from durable.testing.stored import Stored, Tables
from durable.testing.template.stack import Stack
from durable.testing.template.template import Template
from durable.testing.template.wiring import NoWiring

CONTINUATIONS = "ContinuationQueue"
WORKER = "Worker"
_MOST_SWEEPS = 1_000  # one after the other, with no other invocation between


class Harness(Client):
    """A deployment in memory: moto inside, time skipped, nothing sleeps.

    with Harness(workflows=[checkout]) as durable:
        execution = durable.start(checkout, order)
        durable.run()
        assert execution.status == "completed"
    """

    emulator: ClassVar[Emulator] = Moto()

    def __init__(
        self,
        *,
        workflows: Iterable[Any] | None = None,
        steps_per_invocation: int = 1,
        store: Literal["moto", "local"] | None = None,
        transport: Literal["sqs", "eventbridge"] | None = None,
        start: datetime | None = None,
        template: Path | str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Workflows None: all of handler/workflows/. The template: the nearest `template.yaml`; parameters override its.

        The store is moto, which answers every AWS call, or local: SQLite behind the same ports, in which a step takes less
        than a millisecond, calls cost no units, and roles are not checked. None: DURABLE_TEST_STORE of the environment, by
        default moto. Transport None: DURABLE_TEST_TRANSPORT, by default sqs.
        """
        self.store = chosen_store(store)
        carrier = chosen_transport(transport)
        chosen = {} if carrier == "sqs" else {"Transport": carrier}
        # The operations that send a continuation: a bus can't keep one, so what is delayed goes to the queue.
        self.sending = ("SendMessage",) if carrier == "sqs" else ("PutEvents", "SendMessage")
        loaded = Template.load(template, {**chosen, **(parameters or {})})
        self._workflows = None if workflows is None else list(workflows)
        self._deployment = Deployment(
            loaded,
            backend=backend_of(self.store, self.emulator),
            environment={"DURABLE_STEPS": str(steps_per_invocation), "DURABLE_DRIFT": "error"},
            start=start,
            build=self._build,
        )
        self.application: Any = None  # the one of this process: what a caller outside Lambda has

    def __enter__(self) -> Self:
        with ExitStack() as opening:  # a deployment that can't be built leaves nothing behind
            opening.enter_context(self._deployment)
            if self._wiring is not None:
                self.application = self._build(self._deployment.functions[WORKER].environment)
                self.__dict__.update(vars(self.application.client))  # which makes the harness a client
            opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._deployment.__exit__(kind, error, trace)

    def __getattr__(self, name: str) -> Any:
        """Say what is missing: the `with` block, or a function of the library in the template."""
        deployment: Deployment | None = self.__dict__.get("_deployment")
        if name.startswith("__") or deployment is None:
            raise AttributeError(f"a Harness has no attribute {name!r}")
        if deployment.lifetime.phase is Phase.NEW:
            raise NotEntered
        if name in ("_ports", "_registry", "_ids") and deployment.found.wiring is None:
            raise NoWiring(deployment.found)
        raise AttributeError(f"a Harness has no attribute {name!r}")

    def _build(self, environment: Mapping[str, str]) -> Any:
        application = self._wiring.build(
            environment,
            self._workflows,
            self.clock,
            process=VirtualProcess(self.faults),
            observer=self._observer(),
            **self._adapters(environment),
        )
        if not isinstance(application, Application):  # a template with a wiring of its own
            return application
        ports = self._deployment.lifetime.guard(application.ports)
        return self._deployment.verification.watched(assemble(application.settings, ports, application.registry))

    @property
    def _wiring(self) -> Any:
        """The module that builds the applications of the template's functions."""
        return self._deployment.found.wiring

    def _observer(self) -> Observer | None:
        """What is told of the events of an application; None: what a deployment has."""
        return BodyObserver(self.faults)

    def _adapters(self, environment: Mapping[str, str]) -> dict[str, Any]:
        make = self._deployment.services.adapters
        return {} if make is None else {"adapters": make(environment)}

    @property
    def _live(self) -> Deployment:
        """The deployment, to do something with it: only inside the block."""
        self._deployment.lifetime.check()
        return self._deployment

    @property
    def _made(self) -> Deployment:
        """The deployment, to look at it: inside the block, or after it."""
        if self._deployment.lifetime.phase is Phase.NEW:
            raise NotEntered
        return self._deployment

    # --- running ----------------------------------------------------------------------------------------------------

    def run(self, duration: timedelta | float | None = None) -> None:
        """Delivers all that is due, jumping the clock to what is due next, until nothing is, or for the duration.

        Then what was advanced is replayed at another time: raises NotDeterministic when the code does something else.
        """
        with self._live.environment.kept():
            self._run(None if duration is None else self.clock.now() + round(seconds(duration) * 1000))
            self._verify()

    def _run(self, until: int | None) -> None:
        clock, pump = self.clock, self._live.pump
        while True:
            while pump.deliver() is not None or pump.fire():
                self._check_progress()
            moment = pump.next(until)
            if moment is None or (until is not None and moment > until):
                break
            clock.move_to(max(moment, clock.now()))
        if until is not None:
            clock.move_to(max(until, clock.now()))

    def _verify(self) -> None:
        """Replay what was advanced, unless this run is part of an invocation: then the outer run does."""
        deployment = self._live
        if self._wiring is None or deployment.invocations.current() is not None:
            return
        environment = deployment.functions[WORKER].environment
        with deployment.services.traffic.unrecorded(), deployment.environment.of(environment):
            deployment.verification.verify()

    def _check_progress(self) -> None:
        if self.invocations[-1].function != SWEEPER:
            return
        last = self.invocations[-_MOST_SWEEPS:]
        if len(last) == _MOST_SWEEPS and all(invocation.function == SWEEPER for invocation in last):
            raise EndlessRun(len(self.invocations), SWEEPER, "the due index still full")

    def deliver_once(self) -> Invocation | None:
        """Delivers one batch that is due now; None when nothing is. The clock stands."""
        return self._live.pump.deliver()

    def invoke(self, function: str, event: Any) -> Invocation:
        """Invokes a function by its logical id with an event of your own."""
        return self._live.runner.invoke(function, event)

    def sweep(self) -> Invocation:
        """Runs the sweeper, now."""
        (schedule,) = [each for each in self._live.pump.schedules if each.source.function == SWEEPER]
        return schedule.fire()

    def restart_processes(self) -> None:
        """Every process that is warm ends, as in a deployment: the next invocations are cold starts."""
        self._live.processes.cool()

    def deploy(self, workflows: Iterable[Any]) -> None:
        """The functions have these workflows from now on, and start cold; the client keeps those that it knows."""
        self.restart_processes()
        self._workflows = list(workflows)

    # --- messages ---------------------------------------------------------------------------------------------------

    def take(self, queue: str = CONTINUATIONS) -> Batch | None:
        """Receives the next batch and leaves it to you: deliver it late, twice, after another one, inside a body, never."""
        return self._live.pump.take(queue)

    def messages(self, queue: str | None = CONTINUATIONS) -> Sequence[Message]:
        """What is in a queue (None: in any), soonest visible first; the invisible too."""
        return self._made.services.mail.waiting(queue)

    @property
    def sent(self) -> Sequence[Message]:
        """Every message that was sent to any queue, in order."""
        return self._made.services.mail.sent

    @property
    def schedules(self) -> Sequence[Timer]:
        """The schedules of EventBridge Scheduler that will fire, soonest first."""
        return self._made.services.timers.pending()

    def put_message(self, body: str, queue: str = CONTINUATIONS) -> None:
        """Puts a message of your own into a queue, as another program might."""
        services = self._live.services
        if queue not in services.stack.queues:
            raise InvalidCall(f"the template has no queue {queue!r}; it has {', '.join(services.stack.queues)}.")
        services.polling.put(services.stack.queues[queue], body)

    def put_event(self, source: str, detail_type: str, detail: Mapping[str, Any], bus: str = "default") -> str:
        """Puts an event of your own on an event bus; its id. Rules of the template may bring it into queues."""
        return self._live.services.put_event(bus, source, detail_type, json.dumps(detail))

    def drop_schedule(self, schedule: Timer) -> None:
        """A schedule gets lost: it does not fire any more."""
        self._live.services.timers.drop(schedule)

    def duplicate(self, message: Message, delay: timedelta | float = 0) -> Message:
        """The message (waiting, delivered or deleted) is delivered once more after the delay, under its own id."""
        return self._live.services.mail.duplicate(message, self.clock.now() + round(seconds(delay) * 1000))

    def duplicate_all(self, copies: int = 1) -> None:
        """Every message that is sent from now on is delivered so many times more."""
        self._live.services.mail.duplicates = copies

    # --- what happened ----------------------------------------------------------------------------------------------

    @property
    def calls(self) -> Sequence[Call]:
        """Every AWS call that functions and the client made, in order; Lambda's own polling is not among them."""
        return self._made.services.traffic.calls

    @property
    def invocations(self) -> Sequence[Invocation]:
        """Every invocation of a function, in order."""
        return self._deployment.invocations.all

    @property
    def faults(self) -> Faults:
        """Plans misfortune."""
        return self._deployment.faults

    @property
    def clock(self) -> VirtualClock:
        """The virtual clock."""
        return self._deployment.clock

    @property
    def stack(self) -> Stack:
        """The tables, queues and functions."""
        return self._made.services.stack

    @property
    def stored(self) -> Stored:
        """A look at what is stored of executions."""
        return self._live.services.stored

    @property
    def tables(self) -> Tables:
        """Tables of your own, beside those of the template, for `step.transact`."""
        return self._live.services.tables

    def unrecorded(self) -> AbstractContextManager[None]:
        """What this thread calls within is no call: it has no number, and no fault meets it."""
        return self._live.services.traffic.unrecorded()

    @property
    def permissions(self) -> Permissions:
        """What the functions' roles allow, and what of it was used."""
        permissions = self._made.services.permissions
        if permissions is None:
            raise ConfigurationError("the local store checks no permissions: use Harness(store='moto') to see them.")
        return permissions

    @property
    def limit(self) -> int:
        """The number of invocations after which a run is taken to be endless."""
        return self._deployment.limit

    @limit.setter
    def limit(self, invocations: int) -> None:
        self._deployment.limit = invocations
