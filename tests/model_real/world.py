"""One deployment with one execution: the store, the queues, the clock, and what can happen next."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from durable.errors import DurableError, StoreError
from durable.local.database import Database
from durable.local.messages import Message, Messages, QueueSettings
from durable.local.queue import SqliteQueue
from durable.local.schedules import Schedules
from durable.local.store import SqliteStore
from durable.local.stream import Change, Changes
from durable.protocol.continuation import Delivery, read
from durable.protocol.delivery import Verdict
from durable.protocol.head import AT_REST, Head, Status
from durable.runtime.application import Application, assemble
from durable.runtime.invocation.budget import Settings
from durable.runtime.ports import Ports
from durable.runtime.registry import Registry
from durable.runtime.storage.values import Vault
from durable.usercode.durations import FOREVER
from tests.model_real.actors import (
    Actor,
    ActorClock,
    ActorObserver,
    ActorPort,
    ActorProcess,
    Numbers,
    Time,
)
from tests.model_real.cases import COMMANDS, Case
from tests.model_real.surprises import surprises
from tests.model_real.truth import Truth, Violation, check_body, check_rest, check_write, history_of

START = 1_893_456_000_000  # 2030
ID = "one"
NEVER = START + 100 * 365 * 86_400_000
WORK, DEAD, REJECTED = "work", "dead", "rejected"
INVOCATION = 60.0  # seconds
VISIBILITY = 75  # seconds: longer than an invocation and the margin of its lease
STREAM_TELLS = frozenset({Status.FAILING, Status.CANCELLING})


@dataclass(frozen=True)
class State:
    """A world while nothing is under way, from which it can go on more than once."""

    stored: bytes
    now: int
    nonces: int
    ids: int
    relayed: int
    truth: Truth
    left: Left


@dataclass(frozen=True)
class Left:
    """What of a case's bounds is left."""

    commands: tuple[str, ...]
    faults: int
    duplicates: int
    losses: int


@dataclass
class Watched:
    """The store, whose writes are looked at. Calls that are not writes pass."""

    store: SqliteStore
    world: World

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def update(self, *arguments: Any, **named: Any) -> Any:
        """Write, and look at it."""
        return self.world.watched(lambda: self.store.update(*arguments, **named))

    def together(self, *arguments: Any, **named: Any) -> Any:
        """Write, and look at it."""
        return self.world.watched(lambda: self.store.together(*arguments, **named))


class World:
    """A deployment; `restore` makes it another one of the same case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.database = Database()
        self.time = Time(START)
        self.registry = Registry([case.workflow])
        self.settings = Settings(steps=case.steps)
        self.nonces, self.ids = Numbers("n"), Numbers("m")
        self.store = SqliteStore(self.database)
        settings = QueueSettings(VISIBILITY, 0, DEAD if case.receives else "", case.receives)
        queues = {WORK: settings, DEAD: QueueSettings(VISIBILITY), REJECTED: QueueSettings(VISIBILITY)}
        clock = ActorClock(Actor("the world", lambda actor: None), self.time)
        self.messages = Messages(self.database, queues, clock, self.ids)
        self.schedules = Schedules(self.database)
        self.queue = SqliteQueue(self.messages, self.schedules, clock, WORK, REJECTED)
        self.changes = Changes(self.database)
        self.relayed = 0
        self.truth = Truth()
        self.left = Left(case.commands, case.faults, case.duplicates, case.losses)
        self.actors: list[Actor] = []
        application = self._application(Actor("the starter", lambda actor: None), inline=True)
        application.client.start(case.workflow, execution_id=ID)

    # --- copies ---------------------------------------------------------------------------------------------------------

    def save(self) -> State:
        """Return a copy to go on from."""
        stored = zlib.compress(self.database.serialize(), 1)
        counts = (self.nonces.count, self.ids.count)
        return State(stored, self.time.now, *counts, self.relayed, self.truth.copy(), self.left)

    def restore(self, state: State) -> None:
        """Be as it was."""
        self.database.deserialize(zlib.decompress(state.stored))
        self.time.now, self.relayed = state.now, state.relayed
        self.nonces.count, self.ids.count = state.nonces, state.ids
        self.truth, self.left = state.truth.copy(), state.left
        self.actors = []

    # --- actors ---------------------------------------------------------------------------------------------------------

    def begin(self, actor: Actor) -> None:
        """Let an actor come to its first call."""
        self.actors.append(actor)
        actor.start()

    def _application(self, actor: Actor, *, inline: bool = False) -> Application:
        queue: Any = self.queue if inline else ActorPort(actor, self.queue)
        store: Any = self.store if inline else ActorPort(actor, Watched(self.store, self))
        ports = Ports(
            store=store,
            values=Vault(store),
            queue=queue,
            clock=ActorClock(actor, self.time),
            nonces=self.nonces,
            process=ActorProcess(actor),
            observer=ActorObserver(actor, self._began),
        )
        return assemble(self.settings, ports, self.registry)

    def deliver(self, message: Message, offset: int = 0) -> None:
        """Invoke the worker, or the dead letters' function, with a message."""
        received = self._received(message)
        name = f"{'worker' if message.queue == WORK else 'dead letters'} {message.id}.{received.received}"
        actor = Actor(name, lambda actor: self._work(actor, received), offset=offset)
        actor.late = offset != 0
        self.begin(actor)

    def _work(self, actor: Actor, message: Message) -> None:
        application = self._application(actor)
        clock = application.clock
        deadline = clock.now() + round(INVOCATION * 1000)
        actor.deadline = self.time.now + round(INVOCATION * 1000)
        delivery = Delivery(read(message.body), message.id, message.receipt, clock.now())
        if message.queue == WORK:
            verdict = application.executor.advance(delivery, lambda: (deadline - clock.now()) / 1000)
        else:
            verdict = application.dead_letters.handle(delivery)
        if verdict is Verdict.DELETE:
            actor.call("delete", lambda: self.messages.delete(message.receipt))

    def command(self, name: str) -> None:
        """Let a client ask for something."""
        self.left = Left(tuple(each for each in self.left.commands if each != name), *_bounds(self.left))
        self.truth.asked.append(name)

        def ask(actor: Actor) -> None:
            try:
                COMMANDS[name](self._application(actor).client.get(self.case.workflow, ID))
            except DurableError as refusal:
                actor.result = refusal
                return
            self.truth.done.append(name)

        self.begin(Actor(f"client: {name}", ask))

    def relay(self, change: Change) -> None:
        """Invoke the stream's function with a change."""
        head = change.after

        def tell(actor: Actor) -> None:
            try:
                self._application(actor).relay.relay(head.execution_id, head.revision, head.workflow, head.version)
            except StoreError:
                return  # the record comes again
            self.relayed = max(self.relayed, change.number)

        self.begin(Actor(f"stream: {head.status}", tell))

    def sweep(self) -> None:
        """Invoke the sweeper."""
        self.begin(Actor("sweeper", lambda actor: self._application(actor).sweeper.sweep(lambda: INVOCATION)))

    # --- what is there --------------------------------------------------------------------------------------------------

    @property
    def head(self) -> Head:
        """The execution."""
        found = self.store.read(ID)
        if found is None:
            raise Violation("the execution is gone")
        return found

    @property
    def live(self) -> list[Actor]:
        """Those that wait in a call."""
        return [actor for actor in self.actors if not actor.ended and actor.pending is not None]

    def visible(self) -> list[Message]:
        """What can be delivered now."""
        found = [message for message in self.messages.waiting() if message.visible <= self.time.now]
        return [message for message in found if message.queue != REJECTED]

    def unrelayed(self) -> Change | None:
        """The next change that the stream's filter lets through."""
        for change in self.changes.after(self.relayed):
            if change.before is not None and change.after.status in STREAM_TELLS:
                return change
        return None

    def moments(self) -> list[int]:
        """When something may happen by itself, later than now."""
        found = [message.visible for message in self.messages.waiting() if message.queue != REJECTED]
        found += [schedule.moment for schedule in self.schedules.pending()]
        head = self.head
        if head.due and not head.terminal and head.status not in AT_REST:
            found.append(max(head.due, head.lease))
        return sorted(moment for moment in found if self.time.now < moment < NEVER)

    def sweepable(self) -> bool:
        """Whether the sweeper would find the execution."""
        head = self.head
        return bool(head.due) and head.due <= self.time.now and not head.terminal and head.status not in AT_REST

    def check(self) -> None:
        """Look at the world while nothing is under way."""
        for actor in self.actors:
            if actor.error is not None:
                raise Violation(f"{actor.name} raised {type(actor.error).__name__}: {actor.error}") from actor.error
        if surprises:
            raise Violation(f"an unexpected error: {surprises.pop()}")
        head = self.head
        asleep = head.wake == FOREVER and head.parked(self.time.now)
        if asleep and head.consumed < head.inbox:
            raise Violation("a message waits, and the execution sleeps")
        if any(schedule.moment >= NEVER for schedule in self.schedules.pending()):
            raise Violation("a schedule is left that will never fire")
        pending = any(message.queue in (WORK, DEAD) for message in self.messages.waiting())
        reachable = bool(head.due or pending or self.schedules.pending() or self.unrelayed() or asleep)
        check_rest(head, self.truth, self.case.undoable, self.store, reachable=reachable)

    # --- changes --------------------------------------------------------------------------------------------------------

    def pass_to(self, moment: int) -> None:
        """Let time pass; schedules fire."""
        self.time.now = max(self.time.now, moment)
        self.schedules.fire(self.messages, self.time.now)

    def duplicate(self, message: Message) -> None:
        """Let a message be delivered once more."""
        self.left = Left(self.left.commands, self.left.faults, self.left.duplicates - 1, self.left.losses)
        self.messages.copy(message, self.time.now)

    def lose(self, message: Message) -> None:
        """Let a message vanish."""
        self.left = Left(self.left.commands, self.left.faults, self.left.duplicates, self.left.losses - 1)
        self.messages.delete(message.receipt)

    def fault(self) -> None:
        """Take one of the faults that are left."""
        self.left = Left(self.left.commands, self.left.faults - 1, self.left.duplicates, self.left.losses)

    def watched(self, write: Callable[[], Any]) -> Any:
        """Write, and look at what it did."""
        before = self.store.read(ID)
        was = history_of(self.store, before) if before is not None else None
        answer = write()
        check_write(self.store, self.truth, before, self.store.read(ID), was)
        return answer

    def _began(self, actor: Actor, path: str, *, rollback: bool) -> None:
        others = [other for other in self.actors if other is not actor and not other.ended]
        check_body(self.store, self.head, self.truth, actor, others, path, rollback=rollback)

    def _received(self, message: Message) -> Message:
        """Receive this message, whatever else is visible; one that was received too often is a dead letter."""
        if self.case.receives and message.queue == WORK and message.received >= self.case.receives:
            with self.database as connection:
                connection.execute(
                    "UPDATE message SET queue = ?, received = 0, origin = ? WHERE number = ?",
                    (DEAD, WORK, message.number),
                )
            (message,) = [each for each in self.messages.waiting(DEAD) if each.number == message.number]
        with self.database as connection:
            connection.execute(
                "UPDATE message SET visible = ?, received = received + 1, first = ? WHERE number = ?",
                (self.time.now + VISIBILITY * 1000, message.first or self.time.now, message.number),
            )
        (received,) = [each for each in self.messages.waiting(message.queue) if each.number == message.number]
        return received


def _bounds(left: Left) -> Iterator[int]:
    yield from (left.faults, left.duplicates, left.losses)
