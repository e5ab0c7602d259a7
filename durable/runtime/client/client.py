"""The client: starts executions and finds them again."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from msgspec import Struct
from msgspec.structs import replace

from durable import codec
from durable.api.workflow import NO_INPUT, AnyWorkflow, Workflow
from durable.codec import MAX_VALUE, formats
from durable.codec.display import shown_value
from durable.engine.entries import InputEntry, elsewhere, pack, with_value
from durable.errors import (
    AlreadyStarted,
    CodecError,
    ExecutionBusy,
    ExecutionNotFound,
    InvalidCall,
    InvalidInput,
    InvalidName,
)
from durable.protocol import keys
from durable.protocol.continuation import continuation_of
from durable.protocol.expiry import expired
from durable.protocol.head import Head, Status, list_key, shard
from durable.protocol.updates import Segment
from durable.protocol.wakes import STALE
from durable.runtime.client.execution import Execution
from durable.runtime.events import ExecutionStarted
from durable.runtime.ports import Nonces, Ports
from durable.runtime.registry import Registry
from durable.runtime.storage.purge import purge
from durable.runtime.storage.sizes import HEAD_LIMIT, head_size
from durable.usercode.durations import later

if TYPE_CHECKING:
    from durable.api.generics import I, O, W

ID = re.compile(r"[0-9a-zA-Z_.:-]{1,100}")


class NewExecution(Struct, frozen=True):
    """An execution that is about to be written."""

    head: Head
    segment: Segment | None  # the first of its history, when that does not fit onto the head
    kept: str  # the reference of an input that is too large for the history


class Client:
    """Starts executions and finds them again. Raises StoreError when the table or the queue can't be reached."""

    def __init__(self, ports: Ports, registry: Registry, *, ids: Nonces | None = None) -> None:
        """`ids`: gives what is started and sent its identities; they come again when a step is repeated (S11)."""
        self._ports = ports
        self._registry = registry
        self._ids = ids

    @overload
    def start(self, workflow: Workflow[None, O, W], *, execution_id: str | None = None) -> Execution[O, W]: ...
    @overload
    def start(self, workflow: Workflow[I, O, W], input: I, *, execution_id: str | None = None) -> Execution[O, W]: ...
    def start(self, workflow: AnyWorkflow, input: Any = NO_INPUT, *, execution_id: str | None = None) -> Any:
        """Start an execution; with an id, a repeated start with the same input returns the one that exists (E2).

        Without input it gets the default of its workflow's parameter, as it is now. An id is 1 to 100 characters of
        `[0-9a-zA-Z_.:-]`. Raises InvalidInput that names the field, InvalidName, AlreadyStarted when the id was started
        with something else.
        """
        checked_workflow(workflow, "start", ", ...")
        given = input_for(workflow, input, codec.check if input is NO_INPUT else partial(_fitted, workflow.name))
        return self._start(workflow, given, checked_id(self._new_id() if execution_id is None else execution_id))

    def start_named(
        self, workflow: str, input: object = None, *, execution_id: str | None = None, version: int | None = None
    ) -> Execution[Any, Any]:
        """Start by name, from plain JSON, as messages and HTTP requests do; None is a start without input.

        JSON may come as text too, in bytes. Raises WorkflowNotFound besides what `start` raises.
        """
        found = self._registry.newest(workflow, version)
        try:
            given = input_for(found, NO_INPUT if input is None else input, codec.accept)
        except CodecError as error:
            raise InvalidInput(f"workflow '{workflow}' can't be started with JSON: {error}", error.path) from error
        return self._start(found, given, checked_id(self._new_id() if execution_id is None else execution_id))

    @overload
    def get(self, workflow: Workflow[Any, O, W], execution_id: str, /) -> Execution[O, W]: ...
    @overload
    def get(self, execution_id: str, /) -> Execution[Any, Any]: ...
    def get(self, of: Any, execution_id: str | None = None, /) -> Any:
        """Return the execution of this id; raises ExecutionNotFound, also for one of another workflow than the given."""
        if execution_id is None and isinstance(of, Workflow):
            raise InvalidCall(f"get takes an execution's id: client.get({of.name}, execution_id)")
        workflow = None if execution_id is None else checked_workflow(of, "get", ", ...")
        execution = self._handle(checked_id(of if execution_id is None else execution_id), workflow)
        found = execution.workflow
        if workflow is not None and found != workflow.name:
            raise ExecutionNotFound(f"execution '{execution_id}' is of workflow '{found}', not '{workflow.name}'")
        return execution

    # --- below -----------------------------------------------------------------------------------------------------

    def _new_id(self) -> str:
        return (self._ids or self._ports.nonces)()

    def _handle(self, execution_id: str, workflow: AnyWorkflow | None = None) -> Execution[Any, Any]:
        return Execution(execution_id, self._ports, self._registry, workflow, ids=self._ids)

    def _start(self, workflow: AnyWorkflow, input: Any, execution_id: str) -> Execution[Any, Any]:
        new = self._new(workflow, input, execution_id)
        head = new.head
        try:
            existing = self._created(new)
        except ExecutionBusy:
            self._discard(new)
            raise
        if existing is not None and existing.birth != head.birth:
            self._discard(new)
        if existing is None:
            self._ports.observer.observe(ExecutionStarted(execution_id, workflow.name))
        elif (existing.workflow, existing.digest) != (head.workflow, head.digest):
            raise AlreadyStarted(
                f"execution '{execution_id}' was started before, with another "
                + ("input" if existing.workflow == head.workflow else f"workflow, '{existing.workflow}'")
            )
        started = head if existing is None else existing
        if started.revision == 0 and not started.terminal:  # whoever started it may have died before it sent
            self._ports.queue.send(continuation_of(started))
        return self._handle(execution_id, workflow)

    def _created(self, new: NewExecution) -> Head | None:
        """Write it; returns the execution that has its id already."""
        existing = self._ports.store.create(new.head, new.segment)
        now = self._ports.clock.now()
        if existing is None or not expired(existing, now):
            return existing
        if not purge(self._ports, existing, now):
            raise ExecutionBusy(
                f"execution '{new.head.execution_id}' has expired and is being purged: start it again in a while"
            )
        return self._ports.store.create(new.head, new.segment)  # expired: as good as gone (E9)

    def _discard(self, new: NewExecution) -> None:
        """Delete the large input of an execution that was not written, for there is one of its id."""
        if new.kept:
            self._ports.values.drop(new.head.execution_id, [new.kept])

    def _new(self, workflow: AnyWorkflow, input: Any, execution_id: str) -> NewExecution:
        try:
            stored = codec.encode(input, workflow.input_type if workflow.takes_input else None)
            self._ports.values.checked(stored, "it")
        except CodecError as error:
            raise InvalidInput(
                f"the input of workflow '{workflow.name}' can't be stored: {error}", error.path
            ) from error
        now = self._ports.clock.now()
        entry = self._entry(execution_id, stored, now)
        head = Head(
            execution_id=execution_id,
            status=Status.PENDING,
            workflow=workflow.name,
            version=workflow.version,
            created=now,
            format=formats.FORMAT,
            digest=codec.fingerprint([input]) or sha256(stored).hexdigest()[:16],
            due=now + STALE,
            due_shard=shard(execution_id),
            list_key=list_key(workflow.name, execution_id, is_open=True),
            deadline=later(now, workflow.timeout) if workflow.timeout is not None else 0,
            tail=pack([entry]),
        )
        if head_size(head) <= HEAD_LIMIT:
            return NewExecution(head, None, entry.kept)
        segment = Segment(keys.segment(now, 1, 0, 0), "", head.tail)
        return NewExecution(replace(head, tail=b"", segment=segment.key, segments=1), segment, entry.kept)

    def _entry(self, execution_id: str, stored: bytes, now: int) -> InputEntry:
        """The first entry of a history: the input, here or, when it is large, elsewhere (S13)."""
        entry = InputEntry(started=now, ended=now)
        if len(stored) <= MAX_VALUE:
            return with_value(entry, stored)
        key = keys.payload(now, "input", self._ports.nonces())
        return elsewhere(entry, self._ports.values.keep(execution_id, key, stored))


def checked_workflow(given: Any, call: str, more: str) -> AnyWorkflow:
    """Return the workflow that a call of the client was given; raises InvalidCall for what is none."""
    if isinstance(given, Workflow):
        return given
    if isinstance(given, FunctionType):
        name = f"{given.__module__}.{given.__qualname__}"
        raise InvalidCall(f"{call} takes a workflow, and {name} is a plain function: decorate it with @workflow")
    name = given if isinstance(given, str) and given.isidentifier() else "workflow"
    by_name = (
        f". By its name: client.start_named({given!r}{more})" if call == "start" and isinstance(given, str) else ""
    )
    raise InvalidCall(
        f"{call} takes the workflow itself, not {shown_value(given)}: client.{call}({name}{more}){by_name}"
    )


def _fitted(name: str, given: Any, annotation: Any) -> Any:
    try:
        return codec.check(given, annotation)
    except InvalidInput as error:
        hint = ""
        if isinstance(given, dict) and error.path == "$":
            hint = f". Plain JSON starts it by name: client.start_named('{name}', ...)"
        raise InvalidInput(f"the input of workflow '{name}' does not fit: {error}{hint}", error.path) from error


def input_for(workflow: AnyWorkflow, given: Any, fit: Callable[[Any, Any], Any]) -> Any:
    """What an execution starts with: the given input, fitted to its annotation, or the default; raises InvalidInput."""
    if not workflow.takes_input:
        if given is not NO_INPUT and given is not None:
            raise InvalidInput(f"workflow '{workflow.name}' takes no input, and was given {type(given).__name__}")
        return None
    if given is not NO_INPUT:
        return fit(given, workflow.input_type)
    if workflow.default is not NO_INPUT:
        return _default(workflow)
    try:
        return fit(None, workflow.input_type)
    except InvalidInput as error:
        raise InvalidInput(
            f"workflow '{workflow.name}' was started without input: {error}. Give it one, or give its parameter a default.",
            error.path,
        ) from error


def _default(workflow: AnyWorkflow) -> Any:
    """The default as its annotation has it; what does not fit that is the author's word: `order: Order = None`."""
    try:
        return codec.check(workflow.default, workflow.input_type)
    except InvalidInput:
        return workflow.default


def checked_id(execution_id: object) -> str:
    """An execution id; raises InvalidName."""
    if not isinstance(execution_id, str) or not ID.fullmatch(execution_id):
        raise InvalidName(f"an execution id is 1 to 100 characters of [0-9a-zA-Z_.:-], not {execution_id!r}")
    return execution_id
