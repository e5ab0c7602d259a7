"""What the runtime needs of the world, and what must hold of whatever provides it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from durable.api.messages import Sent
from durable.protocol.continuation import Continuation
from durable.protocol.head import Head
from durable.protocol.updates import Blocked, Put, Refused, Segment, Update
from durable.runtime.events import Event


class Store(Protocol):
    """The table. Every method raises StoreError when it can't be reached; nothing is half written."""

    def create(self, head: Head, segment: Segment | None) -> Head | None:
        """Write a new execution and its first segment, if any, both or neither. Returns the one that exists, if any."""

    def read(self, execution_id: str) -> Head | None:
        """The head as last written."""

    def update(self, update: Update) -> Head | Refused:
        """Write if the conditions hold: the head after it, or the refusal. Later reads return what it accepted."""

    def seal(self, execution_id: str, segment: Segment) -> None:
        """Write a segment. It counts only once a head names it."""

    def segments(self, head: Head, after: int) -> Sequence[Segment]:
        """The segments that the head's chain reaches, numbered above `after`, oldest first."""

    def keep(self, execution_id: str, key: str, value: bytes, *, new: bool = False, expires: int = 0) -> bool:
        """Write a value into an item of its own; `new`: only if there is no such item. Whether it is the one that stands.

        `expires`: when the store may delete it by itself, in milliseconds since the epoch; 0: never.
        """

    def kept(self, execution_id: str, key: str) -> bytes:
        """The value of such an item, as last written."""

    def together(
        self, update: Update, puts: Sequence[Put], writes: Sequence[Mapping[str, object]] = ()
    ) -> Head | Refused | Blocked:
        """One transaction: the update, items of the execution, and writes to other tables; all of it or nothing.

        `writes` are elements of TransactWriteItems as boto3's client takes them. The head after it; or the refusal, or
        Blocked when another condition than the head's did not hold.
        """

    def waiting(self, execution_id: str, after: Mapping[str, int] | None, limit: int) -> Sequence[Sent]:
        """The oldest messages of each of these queues, numbered above the given; None: of all queues, every one."""

    def drop(self, execution_id: str, keys: Sequence[str]) -> None:
        """Delete items of an execution that no head names; those that are gone already are no fault."""

    def find(self, execution_id: str, key: str) -> bytes | None:
        """The value of an item that may not be there."""

    def due(self, shard: str, since: int, until: int, limit: int) -> Sequence[tuple[str, int]]:
        """Executions of a shard that are due from then to then, soonest first; the index may lag behind."""

    def purge(self, head: Head) -> None:
        """Delete every item of an execution, the head last and only if it is still as given.

        What belongs to a later execution of the same id stays; what an earlier one has left goes too.
        """


class Queue(Protocol):
    """Delivers continuations: at least once, in any order, sometimes late. Raises StoreError when out of reach."""

    def send(self, continuation: Continuation, delay: float = 0) -> None:
        """Deliver it after `delay` seconds; a longer delay than the queue can keep is delivered early."""

    def forget(self, continuation: Continuation) -> None:
        """Take back what was sent to come much later, where that can be done; nothing happens if it is not there."""

    def hold(self, receipt: str, seconds: float) -> None:
        """Keep a delivered message invisible for that long; it is then delivered again."""

    def reject(self, body: str, reason: str) -> None:
        """Put a message that no code can handle where a person finds it, with the reason."""


class Clock(Protocol):
    """Time."""

    def now(self) -> int:
        """Milliseconds since the epoch."""

    def sleep(self, seconds: float) -> None:
        """Wait in place."""


class Nonces(Protocol):
    """Random ids."""

    def __call__(self) -> str:
        """A short string that was never returned before."""


class Process(Protocol):
    """The process that this code runs in."""

    def exit(self) -> None:
        """End at once, with everything that runs in it; never returns on Lambda."""


class Observer(Protocol):
    """Is notified of what happens, once each."""

    def observe(self, event: Event) -> None:
        """Take an event; what it raises would fail the invocation."""


class Publisher(Protocol):
    """Takes events for the user's own subscribers: at least once. Raises StoreError when out of reach."""

    def publish(self, event: str, source: str, detail: str) -> None:
        """Publish an event; `detail` is JSON."""


class Blobs(Protocol):
    """A bucket for what is too large for the table. Raises StoreError when out of reach."""

    def put(self, key: str, value: bytes) -> None:
        """Write an object; every later `get` returns it."""

    def get(self, key: str) -> bytes:
        """An object's bytes."""

    def drop(self, keys: Sequence[str]) -> None:
        """Delete objects; those that are gone already are no fault."""

    def purge(self, prefix: str) -> None:
        """Delete every object whose key begins so."""


class Values(Protocol):
    """Where large values are kept: see `durable.runtime.storage.values.Vault`."""

    def checked(self, stored: bytes, what: str) -> bytes:
        """The value; raises CodecError when it is too large to be kept."""

    def keep(self, execution_id: str, key: str, stored: bytes, *, expires: int = 0) -> str:
        """Write a value; the reference to it."""

    def kept(self, execution_id: str, reference: str) -> bytes:
        """The value of a reference."""

    def drop(self, execution_id: str, references: list[str]) -> None:
        """Delete values that nothing names."""

    def purge(self, execution_id: str, birth: int) -> None:
        """Delete what of an execution is not in the table."""


class Adapters(Struct, frozen=True):
    """The ports behind which a deployment's data is: the same for every process that is part of it."""

    store: Store
    queue: Queue
    blobs: Blobs | None = None  # None: what is too large for the store can't be kept
    publisher: Publisher | None = None


class Ports(Struct, frozen=True):
    """All of them, as they are bound in one process."""

    store: Store
    values: Values
    queue: Queue
    clock: Clock
    nonces: Nonces
    process: Process
    observer: Observer
    publisher: Publisher | None = None
