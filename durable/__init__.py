"""Durable workflows for AWS Lambda: plain functions whose steps survive crashes, and carry their own rollback."""

from __future__ import annotations

from typing import Any

from durable.api.actions import Action, ActionFunction
from durable.api.context import Context
from durable.api.messages import Message, Queue
from durable.api.outcomes import Break, Continue, Failure, Success
from durable.api.retry import Retry
from durable.api.step import Step, Undo
from durable.api.workflow import Workflow, workflow
from durable.errors import (
    ActionNotFound,
    AlreadyStarted,
    CodecError,
    ConfigurationError,
    DuplicateWorkflow,
    DurableError,
    ErrorInfo,
    ExecutionBusy,
    ExecutionFailed,
    ExecutionNotFound,
    HistoryDiverged,
    InvalidCall,
    InvalidInput,
    InvalidName,
    InvalidState,
    Kind,
    NestedStep,
    QueueTimeout,
    RollbackError,
    StepFailed,
    StepOnly,
    StoreError,
    SuspensionSwallowed,
    TerminalError,
    WorkflowNotFound,
    WrongThread,
)
from durable.runtime.client.client import Client
from durable.runtime.client.execution import Execution
from durable.runtime.client.history_view import HistoryEntry, RollbackOutcome

__all__ = [
    "Action",
    "ActionFunction",
    "ActionNotFound",
    "AlreadyStarted",
    "Break",
    "Client",
    "CodecError",
    "ConfigurationError",
    "Context",
    "Continue",
    "DuplicateWorkflow",
    "DurableError",
    "ErrorInfo",
    "Execution",
    "ExecutionBusy",
    "ExecutionFailed",
    "ExecutionNotFound",
    "Failure",
    "HistoryDiverged",
    "HistoryEntry",
    "InvalidCall",
    "InvalidInput",
    "InvalidName",
    "InvalidState",
    "Kind",
    "Message",
    "NestedStep",
    "Queue",
    "QueueTimeout",
    "Retry",
    "RollbackError",
    "RollbackOutcome",
    "Step",
    "StepFailed",
    "StepOnly",
    "StoreError",
    "Success",
    "SuspensionSwallowed",
    "TerminalError",
    "Undo",
    "Workflow",
    "WorkflowNotFound",
    "WrongThread",
    "connect",
    "workflow",
]


def connect(*, table: str, queue: str, bucket: str = "", session: Any = None) -> Client:
    """A client for callers outside Lambda: the table's name, the continuation queue's URL, a bucket and a session if any."""
    from durable.aws.connect import connect as connect_to_aws  # `import durable` loads no AWS package

    return connect_to_aws(table=table, queue=queue, bucket=bucket, session=session)
