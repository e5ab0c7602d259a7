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
    """A small key-value store in the execution's own partition; writes are committed with the step's record (S10)."""

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
    """The sending side of the execution's own queues (Q7)."""

    def send(self, queue: str | Queue[B, Any], body: B) -> None:
        """Put a message into a queue of this execution: taken once, also when the attempt is repeated."""


class Reach(Database, StepQueue, Protocol):
    """What the runtime gives a body beside its state."""

    @property
    def client(self) -> Client:
        """A client with stable identities (S11)."""

    def transact(self, *writes: Mapping[str, Any]) -> None:
        """Write to the user's own tables, with the record (S10)."""

    def publish(self, event: str, detail: object) -> None:
        """Publish an event (S11)."""


class Access(Struct):
    """What a running body can reach, and only while it runs (S7)."""

    document: Document
    vars: dict[str, Any]
    log: ExecutionLog
    remaining: Callable[[], float]
    reach: Reach
    open: bool = True

    def refuse(self, thing: str, path: str) -> NoReturn:
        """Raise StepOnly for what is used after its step."""
        raise StepOnly(
            f"{thing} was used after its step '{path}' had ended: it exists only inside the running step. "
            "Return a value from the step instead of keeping the step object."
        )


class Step(Scoped["S"]):
    """A running step: its identity, the durable state, and what it may reach while it runs."""

    stored_instead = "Return what the step has done, and not the step."
    __slots__ = ("_access", "attempt", "execution_id", "idempotency_key", "name", "path")

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
        """The execution's durable document; changes are committed with the step's record, failed attempts' too (S8)."""
        document: S = _reach(self._access, "step.state", self.path).document.value
        return document

    @state.setter
    def state(self, value: S) -> None:
        _reach(self._access, "step.state", self.path).document.value = value

    @property
    def vars(self) -> dict[str, Any]:
        """A scratch dictionary that lives as long as the warm process and may be gone: never rely on it (S9)."""
        return _reach(self._access, "step.vars", self.path).vars

    @property
    def db(self) -> Database:
        """Keys and values of this execution; what is written is committed with the record, exactly once (S10)."""
        return _reach(self._access, "step.db", self.path).reach

    @property
    def client(self) -> Client:
        """Starts executions and sends to others, at least once, with ids by which they are taken once (S11)."""
        return _reach(self._access, "step.client", self.path).reach.client

    @property
    def queue(self) -> StepQueue:
        """Sends to the execution's own queues (Q7)."""
        return _reach(self._access, "step.queue", self.path).reach

    def publish(self, event: str, detail: object) -> None:
        """Publish an event for your own subscribers: at least once, with an `id` by which they take it once (S11)."""
        _reach(self._access, "step.publish", self.path).reach.publish(event, detail)

    def transact(self, *writes: Mapping[str, Any]) -> None:
        """Write to your own DynamoDB tables in one transaction with the record: exactly once, whatever crashes (S10).

        Each is an element of TransactItems as boto3's client takes it; with the database's writes at most 99 and 3.5 MB.
        A condition of yours that does not hold fails the attempt.
        """
        _reach(self._access, "step.transact", self.path).reach.transact(*writes)

    @property
    def log(self) -> LoggerAdapter[Logger]:
        """A logger whose lines carry workflow, execution, step and attempt (D12)."""
        return self._access.log

    def remaining(self) -> timedelta:
        """How long the attempt may still run before it is timed out."""
        return timedelta(seconds=_reach(self._access, "step.remaining", self.path).remaining())

    def __repr__(self) -> str:
        return f"Step({self.path!r}, attempt={self.attempt}, execution={self.execution_id!r})"


class Undo(Undoing["T_co", "S"]):
    """A running rollback: what its step did, why the execution failed, and what a step has (R9)."""

    stored_instead = "Return what the step has done, and not the step."
    __slots__ = (
        "_access",
        "_output",
        "attempt",
        "cause",
        "completed",
        "error",
        "execution_id",
        "forward_attempts",
        "forward_idempotency_key",
        "idempotency_key",
        "name",
        "path",
        "status",
    )

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
        self._access = access
        self._output = output
        self.name = name
        self.path = path
        self.attempt = attempt
        self.execution_id = execution_id
        self.idempotency_key = idempotency_key
        self.forward_idempotency_key = forward_idempotency_key
        self.forward_attempts = forward_attempts
        self.status: UndoStatus = status
        self.completed = status == "completed"
        self.error = error
        self.cause = cause

    @property
    def output(self) -> T_co | None:
        """What the step returned; None when it failed or may not have finished (see `completed`)."""
        return self._output

    @property
    def state(self) -> S:
        """The execution's durable document; changes are committed with the rollback's record (S8)."""
        document: S = _reach(self._access, "undo.state", self.path).document.value
        return document

    @state.setter
    def state(self, value: S) -> None:
        _reach(self._access, "undo.state", self.path).document.value = value

    @property
    def vars(self) -> dict[str, Any]:
        """A scratch dictionary that lives as long as the warm process and may be gone: never rely on it (S9)."""
        return _reach(self._access, "undo.vars", self.path).vars

    @property
    def db(self) -> Database:
        """Keys and values of this execution; what is written is committed with the record, exactly once (S10)."""
        return _reach(self._access, "undo.db", self.path).reach

    @property
    def client(self) -> Client:
        """Starts executions and sends to others, at least once, with ids by which they are taken once (S11)."""
        return _reach(self._access, "undo.client", self.path).reach.client

    @property
    def queue(self) -> StepQueue:
        """Sends to the execution's own queues (Q7)."""
        return _reach(self._access, "undo.queue", self.path).reach

    def publish(self, event: str, detail: object) -> None:
        """Publish an event for your own subscribers: at least once, with an `id` by which they take it once (S11)."""
        _reach(self._access, "undo.publish", self.path).reach.publish(event, detail)

    def transact(self, *writes: Mapping[str, Any]) -> None:
        """Write to your own DynamoDB tables in one transaction with the record: exactly once, whatever crashes (S10).

        Each is an element of TransactItems as boto3's client takes it; with the database's writes at most 99 and 3.5 MB.
        A condition of yours that does not hold fails the attempt.
        """
        _reach(self._access, "undo.transact", self.path).reach.transact(*writes)

    @property
    def log(self) -> LoggerAdapter[Logger]:
        """A logger whose lines carry workflow, execution, step and attempt (D12)."""
        return self._access.log

    def remaining(self) -> timedelta:
        """How long the attempt may still run before it is timed out."""
        return timedelta(seconds=_reach(self._access, "undo.remaining", self.path).remaining())

    def __repr__(self) -> str:
        return f"Undo({self.path!r}, {self.status}, attempt={self.attempt}, execution={self.execution_id!r})"


def _reach(access: Access, thing: str, path: str) -> Access:
    if not access.open:
        access.refuse(thing, path)
    return access
