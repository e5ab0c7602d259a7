"""The error tree.

DurableError                     everything that a caller or a workflow may meet, and catch
├── raised by users              TerminalError, RollbackError
├── a durable operation failed   StepFailed, QueueTimeout
├── misuse, told at the call     InvalidName, InvalidCall, InvalidInput, StepOnly, NestedStep, WrongThread,
│                                DuplicateWorkflow
├── values                       CodecError
├── history                      HistoryDiverged, SuspensionSwallowed
├── from the client              ExecutionNotFound, WorkflowNotFound, ActionNotFound, AlreadyStarted, ExecutionFailed,
│                                ExecutionBusy, InvalidState, StoreError
└── configuration                ConfigurationError

Interrupt (BaseException)        control flow that user code must never catch by accident; the kinds of it are in
                                 durable.engine.interrupts
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["critical", "timeout", "exhausted", "rollback"]
"""How a step failed: it may not be retried, ran out of time or of attempts, or demands a rollback (S3)."""

_CHANGED_CODE = "Give changed code a new version, gate it with ctx.version, or mark what was deleted with ctx.removed."


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as data: its type's name, its message, and its scalar attributes (D4)."""

    type: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


class DurableError(Exception):
    """The root of what this library raises."""


# --- raised by users, in a body ------------------------------------------------------------------------------------


class TerminalError(DurableError):
    """Raise it in a body for a failure that no retry can mend: the step fails at once, kind `critical` (S3)."""


class RollbackError(DurableError):
    """Raise it in a body when the execution must be rolled back: no retry, kind `rollback` (S3)."""


# --- a durable operation failed -------------------------------------------------------------------------------------


class StepFailed(DurableError):
    """A step failed for good; the same object, first run and replay (D4)."""

    def __init__(self, kind: Kind, step: str, attempts: int, error: ErrorInfo) -> None:
        self.kind: Kind = kind
        self.step = step
        self.attempts = attempts
        self.error = error
        super().__init__(f"step '{step}' failed ({kind}, attempts: {attempts}): {error}")


class QueueTimeout(DurableError):
    """No message came within the timeout of `queue.next` (Q1)."""


# --- misuse, told at the call ---------------------------------------------------------------------------------------


class InvalidName(DurableError, ValueError):
    """A name that is empty, not a string, or more than 256 bytes with its suffix (D5)."""


class InvalidCall(DurableError, TypeError):
    """An argument that the operation can't take: a negative duration, a rollback that is not callable, and so on."""


class InvalidInput(DurableError, ValueError):
    """An input that does not fit its annotation; `path` names the field, `$.lines[0].quantity` (E10)."""

    def __init__(self, message: str, path: str = "$") -> None:
        self.path = path
        super().__init__(message)


class StepOnly(DurableError):
    """A thing that exists only on the step object of a running step (S7)."""


class NestedStep(DurableError):
    """A durable operation inside a running step (D11)."""


class WrongThread(DurableError):
    """A context used from a thread, or after a scope, that is not its own (D11)."""


class DuplicateWorkflow(DurableError):
    """Two workflows of one name and version; the message names both files."""


# --- values ---------------------------------------------------------------------------------------------------------


class CodecError(DurableError):
    """A value that can't be stored or read back; `path` says where in the value, `$.items[3]` (S12)."""

    def __init__(self, message: str, path: str = "$") -> None:
        self.path = path
        super().__init__(message)


# --- history --------------------------------------------------------------------------------------------------------


class HistoryDiverged(DurableError):
    """The code asks for something else than the history holds (D6)."""

    def __init__(
        self,
        path: str,
        recorded: str,
        requested: str,
        advice: str = _CHANGED_CODE,
        *,
        cause: ErrorInfo | None = None,
    ) -> None:
        self.path = path
        self.recorded = recorded
        self.requested = requested
        left = "" if cause is None else f", for it raised {cause}"
        super().__init__(
            f"the history of this execution has {recorded} at '{path}'; the code now has {requested}{left}. {advice}"
        )


class SuspensionSwallowed(DurableError):
    """User code caught the suspension of its execution with `except BaseException` or a bare `except` (D8)."""


# --- from the client ------------------------------------------------------------------------------------------------


class ExecutionNotFound(DurableError):
    """There is no execution of this id, or it has expired."""


class WorkflowNotFound(DurableError):
    """No workflow of this name, or not of this version, is registered here; the message lists those that are."""


class ActionNotFound(DurableError):
    """The workflow has no action of this name; the message lists those that it has."""


class AlreadyStarted(DurableError):
    """The id is taken by an execution that was started with another workflow or input (E2)."""


class ExecutionFailed(DurableError):
    """What `result()` raises for an execution that ended otherwise than completed."""

    def __init__(self, message: str, error: ErrorInfo) -> None:
        self.error = error
        super().__init__(message)


class ExecutionBusy(DurableError):
    """The wait of `result()` or of an action was over before the execution was ready."""


class InvalidState(DurableError):
    """A verb that makes no sense in this status (E7)."""


class StoreError(DurableError):
    """The table or the queue could not be reached, or refused for now: try again; nothing was lost (D9)."""


# --- configuration --------------------------------------------------------------------------------------------------


class ConfigurationError(DurableError):
    """The environment lacks something; the message names all of it at once."""


# --- control flow ---------------------------------------------------------------------------------------------------


class Interrupt(BaseException):
    """Leaves user code for a reason that is not its own: its execution is suspended, the lease is lost, and so on."""


def is_failure(error: BaseException) -> bool:
    """Return whether what user code raised is a failure of that code: anything but an Interrupt or KeyboardInterrupt.

    An exception group is one, unless a member of it, at whatever depth, is not. The one rule for what is caught around
    user code, wherever it runs.
    """
    found = [error]
    while found:
        each = found.pop()
        if issubclass(type(each), (Interrupt, KeyboardInterrupt)):  # isinstance would ask the object for its class
            return False
        if issubclass(type(each), BaseExceptionGroup):
            found += members(each)
    return True


def members(group: BaseException) -> tuple[BaseException, ...]:
    """Return the members of an exception group, whatever its class makes of the attribute."""
    found: tuple[BaseException, ...] = BaseExceptionGroup.exceptions.__get__(group)
    return found
