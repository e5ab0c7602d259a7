"""Executions, histories and errors as HTTP shows them: plain JSON, each of them from one look at the execution."""

from __future__ import annotations

from functools import partial
from typing import Any

from durable import ErrorInfo, ExecutionNotFound, HistoryEntry, codec
from durable.protocol.head import Head
from durable.runtime.application import Application
from durable.runtime.client.actions import document
from durable.runtime.client.client import ID
from durable.runtime.client.execution import failure_of, history_of
from durable.runtime.client.history_view import moment, recorded_value, rollback_outcome, shown
from durable.runtime.client.reading import reading

View = dict[str, Any]


def execution(application: Application, execution_id: str) -> View:
    """Everything about an execution but its history; raises ExecutionNotFound."""
    found = _head(application, execution_id)
    return reading(application.store, found, lambda head: _execution(application, head))


def _execution(application: Application, head: Head) -> View:
    history = history_of(application.ports, head)
    rollback = rollback_outcome(head, history)
    output = history.output
    fetch = partial(application.ports.values.kept, head.execution_id)
    return {
        "id": head.execution_id,
        "workflow": head.workflow,
        "version": head.version,
        "status": str(head.status),
        "created_at": moment(head.created).isoformat(),
        "ended_at": moment(head.ended).isoformat() if head.ended else None,
        "output": codec.plain(recorded_value(output, fetch))
        if output is not None and head.status == "completed"
        else None,
        "error": _error(failure_of(head, history)),
        "state": _state(application, head),
        "rollback": {
            "outcome": rollback.outcome,
            "error": _error(rollback.error),
            "failed": {path: _error(error) for path, error in rollback.failed.items()},
            "not_run": list(rollback.not_run),
        },
    }


def history(application: Application, execution_id: str) -> View:
    """Every entry of an execution's history; raises ExecutionNotFound."""
    found = _head(application, execution_id)
    entries = reading(
        application.store,
        found,
        lambda head: shown(
            history_of(application.ports, head), partial(application.ports.values.kept, head.execution_id)
        ),
    )
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
    head = application.store.read(possible(execution_id))
    if head is None or (head.terminal and head.due <= application.clock.now()):
        raise ExecutionNotFound(f"there is no execution '{execution_id}', or it has expired")
    return head


def _state(application: Application, head: Head) -> Any:
    workflow = application.registry.find(head.workflow, head.version)
    return codec.plain(document(application.ports, head, workflow.state if workflow is not None else None).value)


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
