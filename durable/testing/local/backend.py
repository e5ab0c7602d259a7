"""Behind a harness: the local store, in memory. No AWS package is loaded, and no call leaves the process."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from durable.errors import ConfigurationError
from durable.local.blobs import SqliteBlobs
from durable.local.database import Database
from durable.local.messages import Messages, QueueSettings
from durable.local.publisher import SqlitePublisher
from durable.local.queue import SqliteQueue
from durable.local.schedules import Schedules
from durable.local.store import SqliteStore
from durable.local.stream import Changes
from durable.local.tables import OwnTables
from durable.runtime.ports import Adapters
from durable.testing.backend import Services, World
from durable.testing.calls import Traffic
from durable.testing.local.attempts import Attempts
from durable.testing.local.bus import Bus
from durable.testing.local.feed import LocalFeed
from durable.testing.local.mailbox import LocalMailbox
from durable.testing.local.ports import RecordedBlobs, RecordedPublisher, RecordedQueue
from durable.testing.local.store import RecordedStore
from durable.testing.local.timers import LocalTimers
from durable.testing.sources.stream import Feed
from durable.testing.sources.timers import Timers
from durable.testing.template.definitions import StreamSource
from durable.testing.template.stack import Queue, Stack


@contextmanager
def local(world: World) -> Iterator[Services]:
    """Everything of the template that holds data is a table of one SQLite database."""
    database = Database()
    try:
        with world.clock, _no_aws():
            yield _Local(world, database).services()
    finally:
        database.close()


@contextmanager
def _no_aws() -> Iterator[None]:
    """Calls of boto3 in the user's code are refused: nothing answers them here, and they must not reach the real AWS."""
    if "botocore" not in sys.modules:
        yield
        return
    from durable.testing.aws.wire import calls_refused

    why = ConfigurationError(
        "the local store answers no calls of boto3, and nothing was sent. Use Harness(store='moto'), where every call of "
        "boto3 is answered, or let the code under test take its client as a parameter."
    )
    with calls_refused(why):
        yield


class _Local:
    """The parts of one deployment, over one database."""

    def __init__(self, world: World, database: Database) -> None:
        self._clock = world.clock
        self._database = database
        self._stack = stack = Stack.named(world.template)
        self._traffic = Traffic(world.lifetime, world.clock, world.invocations, world.faults)
        self._attempts = Attempts(self._traffic, world.clock)
        self._messages = Messages(database, _settings(stack), world.clock, _Ids())
        self._schedules = Schedules(database)
        self._mailbox = LocalMailbox(self._messages, stack.queues, world.clock)
        self._bus = Bus(stack, world.clock, _Ids(), self._mailbox.put)
        self._store = SqliteStore(database)
        self._publisher = SqlitePublisher(database)

    def services(self) -> Services:
        template = Timers(self._clock, self._stack.queues, self._mailbox.put, lambda timer: None)
        for settings in self._stack.schedules:
            template.add((settings.get("GroupName", "default"), settings["Name"]), settings)
        group = self._stack.names.get("ScheduleGroup", "")
        timers = LocalTimers(self._schedules, self._messages, self._clock, self._stack.queues, group, template)
        return Services(
            self._stack,
            self._traffic,
            self._mailbox,
            self._mailbox,
            timers,
            self._store.next_due,
            self._feed,
            _Stored(self._store, SqliteBlobs(self._database)),
            OwnTables(self._database),
            self._bus.put,
            adapters=self._adapters,
        )

    def _feed(self, source: StreamSource) -> Feed:
        return LocalFeed(Changes(self._database), source.stream, self._clock)

    def _adapters(self, environment: Mapping[str, str]) -> Adapters:
        bus = environment.get("DURABLE_BUS", "")
        return Adapters(
            store=RecordedStore(self._store, self._attempts, environment["DURABLE_TABLE"]),
            queue=self._queue(environment, bus),
            blobs=RecordedBlobs(SqliteBlobs(self._database), self._attempts)
            if environment.get("DURABLE_BUCKET")
            else None,
            publisher=RecordedPublisher(self._publisher, self._attempts, bus) if bus else None,
        )

    def _queue(self, environment: Mapping[str, str], bus: str) -> RecordedQueue:
        url = environment["DURABLE_QUEUE"]
        queue, rejected = (self._id_of(environment[name]) for name in ("DURABLE_QUEUE", "DURABLE_REJECTED_QUEUE"))

        def publish(source: str, detail_type: str, detail: str) -> None:
            self._bus.put(bus, source, detail_type, detail)

        self._publisher.listeners[:] = [lambda event: publish(event.source, event.event, event.detail)]
        return RecordedQueue(
            SqliteQueue(self._messages, self._schedules, self._clock, queue, rejected),
            self._attempts,
            url,
            environment.get("DURABLE_SCHEDULE_GROUP", ""),
            publish if environment.get("DURABLE_TRANSPORT") == "eventbridge" else None,
            bus,
        )

    def _id_of(self, url: str) -> str:
        queue = self._stack.queue_of(url)
        assert queue is not None, f"the template makes no queue {url}"
        return queue.id


@dataclass(frozen=True, slots=True)
class _Stored:
    store: SqliteStore
    blobs: SqliteBlobs

    def items(self, execution_id: str) -> Mapping[str, int]:
        return self.store.sizes(execution_id)

    def objects(self, execution_id: str) -> Sequence[str]:
        return self.blobs.keys(f"{execution_id}/")


class _Ids:
    """Ids of messages and events: as AWS's are written, and the same in every run."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def __call__(self) -> str:
        return str(UUID(int=next(self._numbers), version=4))


def _settings(stack: Stack) -> dict[str, QueueSettings]:
    names = {queue.arn: queue.id for queue in stack.queues.values()}
    return {queue.id: _of(queue, names) for queue in stack.queues.values()}


def _of(queue: Queue, names: Mapping[str, str]) -> QueueSettings:
    return QueueSettings(queue.visibility, queue.delay, names.get(queue.dead_letters or "", ""), queue.receives)
