"""The application: the use cases, bound to what provides the ports."""

from __future__ import annotations

from msgspec import Struct

from durable.runtime.client.client import Client
from durable.runtime.invocation.budget import Settings
from durable.runtime.invocation.executor import Executor
from durable.runtime.ports import Clock, Observer, Ports, Queue, Store
from durable.runtime.registry import Registry
from durable.runtime.upkeep.dead_letters import DeadLetters
from durable.runtime.upkeep.stream import Relay
from durable.runtime.upkeep.sweeper import Sweeper


class Application(Struct, frozen=True):
    """What the handlers call."""

    client: Client
    executor: Executor
    relay: Relay
    dead_letters: DeadLetters
    sweeper: Sweeper
    ports: Ports
    store: Store
    queue: Queue
    clock: Clock
    registry: Registry
    observer: Observer
    settings: Settings


def assemble(settings: Settings, ports: Ports, registry: Registry) -> Application:
    """An application over these ports."""
    return Application(
        client=Client(ports, registry),
        executor=Executor(settings, registry, ports),
        relay=Relay(ports.queue, ports.publisher),
        dead_letters=DeadLetters(ports, registry),
        sweeper=Sweeper(ports),
        ports=ports,
        store=ports.store,
        queue=ports.queue,
        clock=ports.clock,
        registry=registry,
        observer=ports.observer,
        settings=settings,
    )
