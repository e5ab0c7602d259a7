"""The application: the use cases, bound to what provides the ports."""

from __future__ import annotations

from dataclasses import dataclass

from durable.runtime.budget import Settings
from durable.runtime.client import Client
from durable.runtime.dead_letters import DeadLetters
from durable.runtime.executor import Executor
from durable.runtime.ports import Clock, Nonces, Observer, Process, Queue, Store
from durable.runtime.registry import Registry
from durable.runtime.relay import Relay
from durable.runtime.sweeper import Sweeper


@dataclass(frozen=True, slots=True)
class Application:
    """What the handlers call."""

    client: Client
    executor: Executor
    relay: Relay
    dead_letters: DeadLetters
    sweeper: Sweeper
    store: Store
    queue: Queue
    clock: Clock
    registry: Registry
    observer: Observer


def assemble(
    settings: Settings,
    store: Store,
    queue: Queue,
    clock: Clock,
    nonces: Nonces,
    process: Process,
    observer: Observer,
    registry: Registry,
) -> Application:
    """An application over these adapters."""
    return Application(
        client=Client(store, queue, clock, nonces, registry, observer),
        executor=Executor(settings, registry, store, queue, clock, nonces, process, observer),
        relay=Relay(queue),
        dead_letters=DeadLetters(store, queue, clock, registry, observer),
        sweeper=Sweeper(store, queue, clock, observer),
        store=store,
        queue=queue,
        clock=clock,
        registry=registry,
        observer=observer,
    )
