"""What a running body reaches beside its state: the database, the client, the queues, the bus (S7, S10, S11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from durable import codec
from durable.codec.display import shown_value
from durable.errors import ConfigurationError, InvalidCall, StepOnly
from durable.protocol import keys
from durable.protocol.head import Head
from durable.protocol.updates import Put
from durable.runtime.client.client import Client
from durable.runtime.ports import Ports
from durable.runtime.registry import Registry
from durable.usercode.names import size

if TYPE_CHECKING:
    from durable.api.messages import Queue

MAX_WRITES = 99  # of a transaction's 100 actions; one is the step's record
MAX_BYTES = 3_500_000  # of a transaction's 4 MB; the rest is the step's record
MAX_KEY = 512  # bytes
MAX_EVENT = 128  # bytes: EventBridge keeps it as the detail type


class StableNonces:
    """Identities that are the same whenever the attempt is repeated: what is sent twice is taken once (S11)."""

    def __init__(self, key: str, check: Callable[[str], None]) -> None:
        self._key = key
        self._check = check
        self._count = 0

    def __call__(self) -> str:
        """The next identity, in the order in which the body asks; raises StepOnly after the body."""
        self._check("client")
        self._count += 1
        return sha256(f"{self._key}:{self._count}".encode()).hexdigest()[:32]


class Reach:
    """One body's reach; what it writes through the database is committed with its record, or not at all (S10)."""

    def __init__(self, ports: Ports, registry: Registry, head: Head, key: str) -> None:
        self._ports = ports
        self._registry = registry
        self._execution_id = head.execution_id
        self._birth = head.birth
        self._workflow = head.workflow
        self._ended = ""  # what it was for, once that is over
        self._nonces = StableNonces(key, self._check)
        self._writes: dict[str, Put] = {}
        self._foreign: list[Mapping[str, Any]] = []
        self._bytes = 0

    def close(self, ended: str) -> None:
        """Refuse whoever has kept a part of it, from now on: what it wrote would be in no record (S7)."""
        self._ended = ended

    def _check(self, part: str) -> None:
        if self._ended:
            raise StepOnly(
                f"{part} was used after {self._ended} had ended: it exists only inside the running step. "
                "Return a value from the step instead of keeping it."
            )

    @property
    def writes(self) -> tuple[Put, ...]:
        """What the body wrote into the execution's own database."""
        return tuple(self._writes.values())

    @property
    def foreign(self) -> tuple[Mapping[str, Any], ...]:
        """What the body wrote into other tables."""
        return tuple(self._foreign)

    # --- the database ----------------------------------------------------------------------------------------------

    def get(self, key: str, returns: Any = Any) -> Any:
        """The value of a key, as this body sees it; None when there is none."""
        self._check("db.get")
        stored_key = self._key(key)
        written = self._writes.get(stored_key)
        stored = self._ports.store.find(self._execution_id, stored_key) if written is None else written.value
        return None if stored is None else codec.decode(stored, returns)

    def put(self, key: str, value: object) -> None:
        """Set a key, with the step's record."""
        self._check("db.put")
        self._write(Put(self._key(key), codec.bounded(codec.encode(value), f"the value of '{key}'")))

    def delete(self, key: str) -> None:
        """Remove a key, with the step's record; one that is not there is no fault."""
        self._check("db.delete")
        self._write(Put(self._key(key), None))

    def transact(self, *writes: Mapping[str, Any]) -> None:
        """Write to your own DynamoDB tables, with the step's record: exactly once, whatever crashes.

        Each is an element of TransactItems as boto3's client takes it: {"Put": {"TableName": …, "Item": {…}}}.
        """
        for write in writes:
            self._bytes += _size(write)
            self._foreign.append(write)
        self._check_size()

    def _key(self, key: object) -> str:
        return keys.database(self._birth, checked_key(key))

    def _write(self, put: Put) -> None:
        replaced = self._writes.get(put.key)
        self._bytes += len(put.value or b"") - len(replaced.value or b"" if replaced else b"")
        self._writes[put.key] = put
        self._check_size()

    def _check_size(self) -> None:
        count = len(self._writes) + len(self._foreign)
        if count > MAX_WRITES or self._bytes > MAX_BYTES:
            raise InvalidCall(
                f"a step writes at most {MAX_WRITES} items and {MAX_BYTES:,} bytes in its transaction; this one has "
                f"{count} and {self._bytes:,}. Split it into several steps."
            )

    # --- others ----------------------------------------------------------------------------------------------------

    @property
    def client(self) -> Client:
        """A client whose starts and messages carry identities that a repeated attempt uses again (S11)."""
        return Client(self._ports, self._registry, ids=self._nonces)

    def send(self, queue: str | Queue[Any, Any], body: object) -> None:
        """Put a message into a queue of the own execution (Q7)."""
        self._check("queue.send")
        self.client.get(self._execution_id).send(queue, body)

    def publish(self, event: str, detail: object) -> None:
        """Publish an event for your own subscribers, at least once, with an `id` by which they take it once (S11)."""
        if not isinstance(event, str) or not 1 <= size(event, "event") <= MAX_EVENT:
            raise InvalidCall(
                f"step.publish: an event is named by 1 to {MAX_EVENT} bytes of text, not {shown_value(event)}"
            )
        if self._ports.publisher is None:
            raise ConfigurationError(
                f"step.publish('{event}'): no event bus is configured. Set DURABLE_BUS, or deploy the template with its bus."
            )
        envelope = {
            "id": self._nonces(),
            "execution": self._execution_id,
            "workflow": self._workflow,
            "detail": codec.plain(detail),
        }
        self._ports.publisher.publish(event, f"durable.{self._workflow}", msgspec.json.encode(envelope).decode())


def _size(write: object) -> int:
    """Return about how many bytes a write to a table takes; raises InvalidCall for what is none."""
    if not isinstance(write, Mapping) or len(write) != 1 or not set(write) <= FOREIGN:
        raise InvalidCall(
            f"step.transact takes elements of TransactItems, {{'Put': {{…}}}} and the like, not {shown_value(write)}"
        )
    try:
        return len(msgspec.json.encode(write))
    except (TypeError, ValueError, RecursionError) as error:  # a lone surrogate, a set, a class of the user's
        raise InvalidCall(
            f"step.transact: {shown_value(write)[:200]} can't be sent: {error}. Its values are as boto3's client takes them, "
            "{'S': 'text'} or {'N': '1'}."
        ) from error


FOREIGN = frozenset({"Put", "Update", "Delete", "ConditionCheck"})


def checked_key(key: object) -> str:
    """A key of step.db; raises InvalidCall."""
    if not isinstance(key, str) or not 1 <= size(key, "database key") <= MAX_KEY:
        raise InvalidCall(f"a key of step.db is a string of 1 to {MAX_KEY} bytes, not {key!r}")
    return key
