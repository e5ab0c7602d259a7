"""Errors of user code as data (D4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from durable.engine.outcomes import Failure
from durable.errors import (
    CodecError,
    ErrorInfo,
    InvalidCall,
    Kind,
    NestedStep,
    RollbackError,
    StepFailed,
    StepOnly,
    TerminalError,
    WrongThread,
)

MAX_MESSAGE = 2_000  # characters: an error is stored with its entry, and a dump of a response is no message
_FOR_GOOD = (TerminalError, CodecError, InvalidCall, NestedStep, StepOnly, WrongThread)


def described(error: BaseException) -> ErrorInfo:
    """An exception as data: type, message and scalar attributes."""
    if isinstance(error, StepFailed):
        origin = error.error
        return ErrorInfo(
            origin.type,
            origin.message,
            {**origin.details, "step": error.step, "kind": error.kind, "attempts": error.attempts},
        )
    return ErrorInfo(type(error).__name__, _message(error), _scalars(error))


def kind_of(error: BaseException) -> Kind | None:
    """The kind of a failure that no retry can mend; None for one that may be retried (S3)."""
    if isinstance(error, RollbackError):
        return "rollback"
    if isinstance(error, StepFailed):  # a body can only hold one that it made itself
        return error.kind
    return "critical" if isinstance(error, _FOR_GOOD) else None


def as_failure(error: StepFailed) -> Failure:
    """The failure that a handled StepFailed stands for (F1)."""
    return Failure(error.kind, "step", error.step, error.attempts, error.error)


def _message(error: BaseException) -> str:
    try:
        message = str(error)
    except Exception:  # a broken __str__ must not hide the failure
        message = f"(str() of this {type(error).__name__} fails)"
    message = message.encode("utf-8", "replace").decode()
    return message if len(message) <= MAX_MESSAGE else message[:MAX_MESSAGE] + "…"


def _scalars(error: BaseException) -> Mapping[str, Any]:
    attributes = getattr(error, "__dict__", None) or {}
    return {
        name: value[:MAX_MESSAGE].encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in list(attributes.items())[:20]
        if not name.startswith("_") and (value is None or isinstance(value, (str, bool)) or _plain_number(value))
    }


def _plain_number(value: object) -> bool:
    if isinstance(value, int):
        return abs(value) < 2**63
    return isinstance(value, float) and value == value and abs(value) != float("inf")
