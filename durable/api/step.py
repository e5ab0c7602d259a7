"""What a body and a rollback are given: the Step and the Undo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, TypeVar, overload

from msgspec import Struct

from durable.api.document import Document
from durable.api.generics import Scoped, Undoing
from durable.api.log import ExecutionLog
from durable.errors import ErrorInfo, StepOnly

if TYPE_CHECKING:
    from logging import Logger, LoggerAdapter

    from durable.api.generics import S, T_co
    from durable.api.messages import Queue
    from durable.runtime.client.client import Client  # a type alone: the engine imports nothing of the runtime

T = TypeVar("T")
B = TypeVar("B")
UndoStatus = Literal["completed", "failed", "unfinished"]


class Database(Protocol):
    """A small key-value store in the execution's own partition; writes are committed with the step's record."""

    @overload
    def get(self, key: str) -> Any: ...
    @overload
    def get(self, key: str, returns: type[T]) -> T | None: ...
    def get(self, key: str, returns: Any = ...) -> Any:
        """The value of a key; None when there is none."""

    def put(self, key: str, value: object) -> None:
        """Set a key."""

    def delete(self, key: str) -> None:
        """Remove a key."""


class StepQueue(Protocol):
    """The sending side of the execution's own queues."""

    def send(self, queue: str | Queue[B, Any], body: B) -> None:
        """Put a message into a queue of this execution: taken once, also when the attempt is repeated."""


class Services(Database, StepQueue, Protocol):
    """What the runtime gives a body beside its state."""

    @property
    def client(self) -> Client:
        """A client with stable identities."""

    def transact(self, *writes: Mapping[str, Any]) -> None:
        """Write to the user's own tables, with the record."""

    def publish(self, event: str, detail: object) -> None:
        """Publish an event."""


class Access(Struct):
    """What a running body can use, and only while it runs."""

    document: Document
    vars: dict[str, Any]
    log: ExecutionLog
    remaining: Callable[[], float]
    services: Services
    open: bool = True


class Running(Scoped["S"]):
    """A running body: its identity, the durable state, and what it can use while it runs. A Step or an Undo."""

    stored_instead = "Return what the step has done, and not the step."
    __slots__ = ("_access", "attempt", "execution_id", "idempotency_key", "name", "path")

    name: str
    """The step's name."""
    path: str
    """Where the step stands: its name, with those of the blocks and iterations around it."""
    attempt: int
    """Which attempt this is, from 1."""
    execution_id: str
    """The execution's id."""
    idempotency_key: str
    """The same at every attempt and replay, and of no other step or rollback: pass it to what takes effects once."""

    def __init__(
        self, access: Access, *, name: str, path: str, attempt: int, execution_id: str, idempotency_key: str
    ) -> None:
        self._access = access
        self.name = name
        self.path = path
        self.attempt = attempt
        self.execution_id = execution_id
        self.idempotency_key = idempotency_key

    @property
    def state(self) -> S:
        """The execution's durable document; changes are committed with the record, those of failed attempts too."""
        document: S = self._open("state").document.value
        return document

    @state.setter
    def state(self, value: S) -> None:
        self._open("state").document.value = value

    @property
    def vars(self) -> dict[str, Any]:
        """A scratch dictionary that lives as long as the warm process and may be gone: never rely on it."""
        return self._open("vars").vars

    @property
    def db(self) -> Database:
        """Keys and values of this execution; what is written is committed with the record, exactly once."""
        return self._open("db").services

    @property
    def client(self) -> Client:
        """Starts executions and sends to others, at least once, with ids by which they are taken once."""
        return self._open("client").services.client

    @property
    def queue(self) -> StepQueue:
        """Sends to the execution's own queues."""
        return self._open("queue").services

    def publish(self, event: str, detail: object) -> None:
        """Publish an event for your own subscribers: at least once, with an `id` by which they take it once."""
        self._open("publish").services.publish(event, detail)

    def transact(self, *writes: Mapping[str, Any]) -> None:
        """Write to your own DynamoDB tables in one transaction with the record: exactly once, whatever crashes.

        Each is an element of TransactItems as boto3's client takes it; with the database's writes at most 99 and 3.5 MB.
        A condition of yours that does not hold fails the attempt; a write that no table can take fails the step.
        """
        self._open("transact").services.transact(*writes)

    @property
    def log(self) -> LoggerAdapter[Logger]:
        """A logger whose lines carry workflow, execution, step and attempt."""
        return self._access.log

    def remaining(self) -> timedelta:
        """Return how long the attempt may still run before it is timed out."""
        return timedelta(seconds=self._open("remaining").remaining())

    def _open(self, thing: str) -> Access:
        """What the body can use; raises StepOnly once it has ended."""
        if not self._access.open:
            raise StepOnly(
                f"{type(self).__name__.lower()}.{thing} was used after its step '{self.path}' had ended: it exists only inside "
                "the running step. Return a value from the step instead of keeping the step object."
            )
        return self._access


class Step(Running["S"]):
    """A running step: its identity, the durable state, and what it can use while it runs."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Step({self.path!r}, attempt={self.attempt}, execution={self.execution_id!r})"


class Undo(Undoing["T_co", "S"], Running["S"]):
    """A running rollback: what its step did, why the execution failed, and what a step has."""

    __slots__ = (
        "_output",
        "cause",
        "completed",
        "error",
        "forward_attempts",
        "forward_idempotency_key",
        "status",
    )

    status: UndoStatus
    """How the step ended: `unfinished` where nobody knows whether it did."""
    completed: bool
    """Whether the step completed: `output` is None where it did not, and where it returned None."""
    error: ErrorInfo | None
    """The step's own error, if it failed."""
    cause: ErrorInfo
    """The error for which the execution fails, or that it was cancelled."""
    forward_attempts: int
    """How many attempts the step was charged."""
    forward_idempotency_key: str
    """The idempotency key that the step had."""

    def __init__(
        self,
        access: Access,
        *,
        name: str,
        path: str,
        attempt: int,
        execution_id: str,
        idempotency_key: str,
        forward_idempotency_key: str,
        forward_attempts: int,
        output: T_co | None,
        status: UndoStatus,
        error: ErrorInfo | None,
        cause: ErrorInfo,
    ) -> None:
        super().__init__(
            access, name=name, path=path, attempt=attempt, execution_id=execution_id, idempotency_key=idempotency_key
        )
        self._output = output
        self.forward_idempotency_key = forward_idempotency_key
        self.forward_attempts = forward_attempts
        self.status = status
        self.completed = status == "completed"
        self.error = error
        self.cause = cause

    @property
    def output(self) -> T_co | None:
        """What the step returned; None when it failed or may not have finished (see `completed`)."""
        return self._output

    def __repr__(self) -> str:
        return f"Undo({self.path!r}, {self.status}, attempt={self.attempt}, execution={self.execution_id!r})"


class OnlyInSteps:
    """Stands on the Context for what only a running step has: reading and writing it say where it is."""

    __slots__ = ("_name",)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, context: object, owner: type) -> NoReturn:
        self._refuse()

    def __set__(self, context: object, value: object) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise StepOnly(
            f"ctx.{self._name} does not exist: {self._name} is only available inside a running step. "
            f"Use step.{self._name} in a body, and return from the step what the workflow needs."
        )
