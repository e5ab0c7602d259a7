"""Errors of user code as data (D4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from durable.errors import (
    CodecError,
    ErrorInfo,
    InvalidCall,
    InvalidInput,
    InvalidName,
    Kind,
    NestedStep,
    RollbackError,
    StepFailed,
    StepOnly,
    TerminalError,
    WrongThread,
)

MAX_DETAILS = 20  # attributes
MAX_MESSAGE = 2_000  # characters: an error is stored with its entry, and a dump of a response is no message
_NOT_KEPT = object()
_FOR_GOOD = (TerminalError, CodecError, InvalidCall, InvalidInput, InvalidName, NestedStep, StepOnly, WrongThread)


def decisive(error: BaseException) -> BaseException:
    """Of a group, as asyncio's TaskGroup raises it, the error that says what becomes of the attempt, or the only one (S3)."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    every = [decisive(each) for each in error.exceptions]
    for kind in ("rollback", "critical"):
        for each in every:
            if kind_of(each) == kind:
                return each
    return every[0] if len(every) == 1 else error


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
        return error.kind if error.kind in ("critical", "timeout", "exhausted", "rollback") else "critical"
    return "critical" if isinstance(error, _FOR_GOOD) else None


def _message(error: BaseException) -> str:
    try:
        message = str(error)
    except Exception:  # a broken __str__ must not hide the failure
        message = f"(str() of this {type(error).__name__} fails)"
    message = message.encode("utf-8", "replace").decode()
    return message if len(message) <= MAX_MESSAGE else message[:MAX_MESSAGE] + "…"


def _scalars(error: BaseException) -> Mapping[str, Any]:
    attributes = getattr(error, "__dict__", None) or {}
    found = {name: _scalar(value) for name, value in list(attributes.items())[:MAX_DETAILS] if not name.startswith("_")}
    return {name: value for name, value in found.items() if value is not _NOT_KEPT}


def _scalar(value: object) -> Any:
    """The value as JSON has it: of a subclass (an IntEnum, a numpy number) what is the same on a replay (D4)."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)[:MAX_MESSAGE].encode("utf-8", "replace").decode()
    if isinstance(value, int):
        return int(value) if abs(value) < 2**63 else _NOT_KEPT
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _NOT_KEPT
    return _NOT_KEPT
