"""Executions, histories and errors as HTTP shows them: plain JSON, each of them from one look at the execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from durable import ErrorInfo, ExecutionNotFound, HistoryEntry, StoreError, codec
from durable.codec.display import error_text, message_of
from durable.errors import DurableError, is_failure
from durable.protocol.head import Head
from durable.runtime.application import Application
from durable.runtime.client.client import ID
from durable.runtime.client.snapshot import Snapshot, current, look
from durable.usercode.durations import moment_of

T = TypeVar("T")
View = dict[str, Any]


def execution(application: Application, execution_id: str) -> View:
    """Everything about an execution but its history; raises ExecutionNotFound."""
    return _look(application, execution_id, _execution)


def _execution(snapshot: Snapshot) -> View:
    head, rollback = snapshot.head, snapshot.rollback
    return {
        "id": head.execution_id,
        "workflow": head.workflow,
        "version": head.version,
        "status": str(head.status),
        "created_at": moment_of(head.created).isoformat(),
        "ended_at": moment_of(head.ended).isoformat() if head.ended else None,
        "output": _readable(lambda: snapshot.output),
        "error": _error(snapshot.error),
        "state": _readable(lambda: snapshot.state),
        "rollback": {
            "outcome": rollback.outcome,
            "error": _error(rollback.error),
            "failed": {path: _error(error) for path, error in rollback.failed.items()},
            "not_run": list(rollback.not_run),
        },
    }


def _readable(read: Callable[[], Any]) -> Any:
    """The value; why it can't be read, where its class is gone or its document can't be made: the rest is shown."""
    try:
        return codec.plain(read())
    except StoreError:  # gone meanwhile: the look is taken again
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        return f"[{message_of(error) if isinstance(error, DurableError) else error_text(error)}]"


def history(application: Application, execution_id: str) -> View:
    """Every entry of an execution's history; raises ExecutionNotFound."""
    entries = _look(application, execution_id, lambda snapshot: snapshot.entries)
    return {"id": execution_id, "history": [_entry(entry) for entry in entries]}


def standing(application: Application, execution_id: str) -> View:
    """Where an execution stands, and no more; raises ExecutionNotFound."""
    head = _head(application, execution_id)
    return {"id": head.execution_id, "workflow": head.workflow, "version": head.version, "status": str(head.status)}


def possible(execution_id: str) -> str:
    """The id, if an execution can have it; raises ExecutionNotFound."""
    if not ID.fullmatch(execution_id):
        raise ExecutionNotFound(f"there is no execution '{execution_id}': no id is like that")
    return execution_id


def _head(application: Application, execution_id: str) -> Head:
    return current(application.ports, possible(execution_id))


def _look(application: Application, execution_id: str, at: Callable[[Snapshot], T]) -> T:
    head = _head(application, execution_id)
    return look(application.ports, head, application.registry.find(head.workflow, head.version), at)


def _entry(entry: HistoryEntry) -> View:
    return {
        "path": entry.path,
        "kind": entry.kind,
        "status": entry.status,
        "attempts": entry.attempts,
        "output": codec.plain(entry.output),
        "error": _error(entry.error),
        "started_at": entry.started_at.isoformat(),
        "ended_at": entry.ended_at.isoformat() if entry.ended_at is not None else None,
    }


def _error(error: ErrorInfo | None) -> View | None:
    if error is None:
        return None
    return {"type": error.type, "message": error.message, "details": codec.plain(dict(error.details))}
