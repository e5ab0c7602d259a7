"""Errors of user code as data (D4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeGuard, get_args

from durable.codec.display import class_name, clean, error_text, message_of
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
    is_failure,
    members,
)

MAX_DETAILS = 20  # attributes
MAX_CLASS = 201  # characters of its class, with the mark of a cut
MAX_NAME = 100  # characters of an attribute's name
MAX_MESSAGE = 2_000  # characters: an error is stored with its entry, and a dump of a response is no message
MAX_TEXT = 10_000  # characters of all attributes together
_FOR_GOOD = (TerminalError, CodecError, InvalidCall, InvalidInput, InvalidName, NestedStep, StepOnly, WrongThread)
_attributes = BaseException.__dict__["__dict__"].__get__  # what an error holds, whatever its class shows of it


def decisive(error: BaseException) -> BaseException:
    """Return the error of a group that says what becomes of the attempt, or its only one; else the error itself (S3).

    asyncio's TaskGroup raises groups, and so does `except*`.
    """
    every = leaves(error)
    for kind in ("rollback", "critical"):
        for each in every:
            if kind_of(each) == kind:
                return each
    return every[0] if len(every) == 1 else error


def leaves(error: BaseException) -> list[BaseException]:
    """Return the members of a group, and of the groups in it; an error that is no group is its only member."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting:
        each = waiting.pop()
        if issubclass(type(each), BaseExceptionGroup):
            waiting += reversed(members(each))
        else:
            found.append(each)
    return found


def original(error: BaseException) -> BaseException:
    """Return the error that a group stands for: its only member, or the first of several failures of steps (R11).

    One that demands a rollback goes before the others. A group that holds other errors too stands for itself.
    """
    found = leaves(error)
    if all(_is_step_failed(each) for each in found):
        return next((each for each in found if kind_of(each) == "rollback"), found[0])
    return found[0] if len(found) == 1 else error


def described(error: BaseException) -> ErrorInfo:
    """Return an exception as data: type, message and scalar attributes. Never raises, whatever the exception does."""
    try:
        return _described(error)
    except BaseException as raised:
        if not is_failure(raised):
            raise
        return ErrorInfo(class_name(error), message_of(error, MAX_MESSAGE))


def _described(error: BaseException) -> ErrorInfo:
    if _is_step_failed(error):
        origin = error.error
        details = _details(dict(origin.details))  # which a body may have made itself
        return ErrorInfo(
            clean(origin.type, MAX_CLASS),
            clean(origin.message, MAX_MESSAGE + 1),
            {**details, "step": clean(error.step, MAX_MESSAGE), "kind": error.kind, "attempts": error.attempts},
        )
    return ErrorInfo(class_name(error), message_of(error, MAX_MESSAGE), _details(_attributes(error)))


def beside(error: ErrorInfo, what: str, other: BaseException) -> ErrorInfo:
    """Return an error that stays what it is, and tells of another that came of handling it."""
    text = error_text(other)
    return ErrorInfo(error.type, f"{error.message} ({what} raised {text})", {**error.details, "retry": text})


def kind_of(error: BaseException) -> Kind | None:
    """Return the kind of a failure that no retry can mend; None for one that may be retried (S3)."""
    cls = type(error)  # never isinstance: it would ask the error for its class
    if issubclass(cls, RollbackError):
        return "rollback"
    if _is_step_failed(error):  # a body can only hold one that it made itself
        return error.kind
    return "critical" if issubclass(cls, (StepFailed, *_FOR_GOOD)) else None


def _is_step_failed(error: BaseException) -> TypeGuard[StepFailed]:
    """Whether it is a StepFailed that has what one has: a subclass need not."""
    if not issubclass(type(error), StepFailed):
        return False
    held = _attributes(error)
    return (
        type(held.get("error")) is ErrorInfo
        and held.get("kind") in get_args(Kind)
        and type(held.get("step")) is str
        and type(held.get("attempts")) is int
    )


def _details(attributes: dict[Any, Any]) -> Mapping[str, Any]:
    """The attributes that are text, numbers, booleans or None, under their names; the code of a botocore error."""
    found: dict[str, Any] = {}
    left = MAX_TEXT
    code = _botocore_code(attributes.get("response"))
    for name, value in [("code", code), *attributes.items()][: MAX_DETAILS + 1]:
        if type(name) is not str or name.startswith("_") or type(scalar := _scalar(value, left)) is _NotKept:
            continue
        found[clean(name, MAX_NAME)] = scalar
        left -= len(scalar) if type(scalar) is str else 0
    return found


class _NotKept:
    """Stands for an attribute that is no scalar."""


def _botocore_code(response: object) -> object:
    """What AWS calls the error: `error.response["Error"]["Code"]`."""
    told = response.get("Error") if type(response) is dict else None
    return told.get("Code", _NotKept()) if type(told) is dict else _NotKept()


def _scalar(value: Any, left: int) -> Any:
    """The value as JSON has it: of a subclass (an IntEnum, a numpy number) what is the same on a replay (D4)."""
    cls = type(value)
    if value is None or cls is bool:
        return value
    if issubclass(cls, str):
        return clean(str.__str__(value), min(MAX_MESSAGE, left)) if left > 0 else _NotKept()
    if issubclass(cls, int):
        number = int.__pos__(value)
        return number if -(2**63) < number < 2**63 else _NotKept()
    if issubclass(cls, float):
        fraction = float.__pos__(value)
        return fraction if math.isfinite(fraction) else _NotKept()
    return _NotKept()
