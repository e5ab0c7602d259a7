"""What happens to executions, as events: each is reported once, after it was recorded, and never on a replay."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from durable.errors import ErrorInfo
from durable.protocol.head import Head, Status


class ExecutionStarted(Struct, frozen=True):
    """A new execution was written."""

    execution_id: str
    workflow: str


class BodyStarted(Struct, frozen=True):
    """A body is about to run. It is the one event that is reported before anything is recorded."""

    execution_id: str
    workflow: str
    path: str
    rollback: bool
    attempt: int


class StepEnded(Struct, frozen=True):
    """The outcome of an attempt of a step or rollback was recorded."""

    execution_id: str
    workflow: str
    path: str
    rollback: bool
    attempt: int
    seconds: float
    outcome: str  # completed, failed, retrying
    error: ErrorInfo | None


class ExecutionEnded(Struct, frozen=True):
    """A terminal status was recorded."""

    execution_id: str
    workflow: str
    status: Status
    rollback: str  # none, completed, failed
    seconds: float

    @classmethod
    def of(cls, head: Head, rollback: str) -> ExecutionEnded:
        """Return the end of the execution that this head shows."""
        seconds = max(0, head.ended - head.created) / 1000
        return cls(head.execution_id, head.workflow, head.status, rollback, seconds)


class IncidentKind(StrEnum):
    """What an operator counts."""

    UNKNOWN_WORKFLOW = "unknown_workflow"  # a continuation of a workflow that is not deployed here
    DRIFT = "drift"  # arguments of a step that differ from the recorded ones
    DEAD_LETTER = "dead_letter"  # a continuation that was received too often
    REJECTED = "rejected"  # a message that no code can handle
    LEASE_LOST = "lease_lost"  # an invocation that lost its execution to another one
    NEWER_FORMAT = "newer_format"  # an execution that a newer version of this library has written
    SWEPT = "swept"  # an execution whose continuation was lost


class Incident(Struct, frozen=True):
    """Something that an operator counts. A rejected message may name no execution."""

    kind: IncidentKind
    execution_id: str = ""
    workflow: str = ""


Event = ExecutionStarted | BodyStarted | StepEnded | ExecutionEnded | Incident
