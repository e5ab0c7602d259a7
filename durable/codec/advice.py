"""What a value is that can't be stored, and what to return instead of it."""

from __future__ import annotations

import functools
import io
import sys
import types
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

from durable.codec.display import class_name, module_of, qualified_name

_CALLABLES = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodWrapperType,
    functools.partial,
)
_REMEDIES: dict[tuple[type, ...], str] = {
    (BaseException,): "Raise it to fail the step, or return its message.",
    (type,): "Return its name.",
    _CALLABLES: "Return what it computes.",
    (types.CoroutineType,): "Await it in the body.",
    (io.IOBase,): "Read it in the body and return the content, or where it is kept.",
    (datetime,): "Return a plain datetime of it: datetime.fromisoformat(value.isoformat()).",
    (date,): "Return a plain date of it: date.fromisoformat(value.isoformat()).",
    (time,): "Return a plain time of it: time.fromisoformat(value.isoformat()).",
    (timedelta,): "Return a plain timedelta of it: timedelta(seconds=value.total_seconds()).",
    (UUID,): "Return UUID(str(...)) of it.",
    (complex,): "Return (value.real, value.imag).",
    (bytearray, memoryview): "Return bytes(...) of it.",
    **{
        (builtin,): f"Return {builtin.__name__}(...) of it."
        for builtin in (int, float, str, bytes, Decimal, tuple, frozenset, set, list, dict)
    },
    (Iterator,): "Return list(...) of it.",
}
OTHERWISE = "Return a dataclass, a dict, or an id by which it can be had again."


def what(value: object) -> str:
    """Say what the value is."""
    cls = type(value)
    if issubclass(cls, type):
        return f"the class {qualified_name(value)}"
    if issubclass(cls, _CALLABLES):
        return f"a function ({getattr(value, '__qualname__', class_name(value))})"
    if issubclass(cls, BaseException):
        return f"an exception ({qualified_name(cls)})"
    return f"a {class_of(value)}"


def instead(value: object) -> str:
    """Say what to return in its place."""
    cls = type(value)
    if module_of(cls).startswith("durable.") and hasattr(cls, "stored_instead"):
        return str(cls.stored_instead)
    if _is_mock(cls):
        return "Give the mock a return_value, or a plain object in its place."
    if class_of(value).startswith("numpy."):
        return "Return .tolist() of it."
    return next((remedy for kinds, remedy in _REMEDIES.items() if issubclass(cls, kinds)), OTHERWISE)


def class_of(value: object) -> str:
    """Name the class with its module, asking nothing that a metaclass could answer."""
    module, name = module_of(type(value)), qualified_name(type(value))
    return f"{module}.{name}" if module else name


def _is_mock(cls: type) -> bool:
    mock = sys.modules.get("unittest.mock")  # loaded already, if there is a mock at all
    return mock is not None and issubclass(cls, mock.NonCallableMock)
