"""Why a value can't be stored, and where in it: raised at the leaf, located by the containers on its way out."""

from __future__ import annotations

import functools
import io
import types
from collections.abc import Iterator

from durable.errors import CodecError

DEPTH = 100
"""Levels of nesting that can be stored: a fixed number, so that what was written can be read from any stack."""

_SHOWN_STEPS = 12
_SHOWN_KEY = 40
_CALLABLES = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodWrapperType,
    functools.partial,
)
_CONVERTIBLE = (bool, int, float, str, bytes, bytearray, tuple, frozenset, set, list, dict)


class Refusal(Exception):
    """The reason, and the steps from the leaf to the root that the containers add."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.steps: list[str] = []
        super().__init__(reason)

    def within(self, step: str) -> None:
        self.steps.append(step)

    @property
    def path(self) -> str:
        steps = self.steps[::-1]
        return "$" + "".join(steps[:_SHOWN_STEPS]) + ("…" if len(steps) > _SHOWN_STEPS else "")

    def as_error(self) -> CodecError:
        return CodecError(f"{self.path} {self.reason}", self.path)


def index_step(index: int) -> str:
    return f"[{index}]"


def key_step(key: object) -> str:
    """How a path names a key: `.total`, `['unit price']`, `[(1, 2)]`."""
    if isinstance(key, str) and key.isidentifier():
        return f".{key}"
    shown = shown_value(key)
    return f"[{shown if len(shown) <= _SHOWN_KEY else shown[:_SHOWN_KEY] + '…'}]"


def shown_value(value: object) -> str:
    """The value's repr, or its class where even that fails."""
    try:
        return repr(value).encode(errors="backslashreplace").decode()
    except Exception:  # a repr is code of the user's
        return f"<{type(value).__qualname__}>"


def too_deep() -> Refusal:
    return Refusal(
        f"contains itself, or is nested more than {DEPTH} deep. Store ids that refer to each other, or a flat list."
    )


def unstorable(value: object) -> Refusal:
    """What the value is, and what to return instead."""
    return Refusal(f"is {_what(value)}, which can't be stored. {_advice(value)}")


def missing(cls: type, name: str) -> Refusal:
    return Refusal(f"was stored before {cls.__qualname__} had the field '{name}'. Give that field a default.")


def _what(value: object) -> str:
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    if isinstance(value, _CALLABLES):
        return f"a function ({getattr(value, '__qualname__', type(value).__qualname__)})"
    if isinstance(value, BaseException):
        return f"an exception ({type(value).__qualname__})"
    return f"a {type(value).__module__}.{type(value).__qualname__}"


def _advice(value: object) -> str:
    if isinstance(value, BaseException):
        return "Raise it to fail the step, or return its message."
    if isinstance(value, type):
        return "Return its name."
    if isinstance(value, _CALLABLES):
        return "Return what it computes."
    if isinstance(value, types.CoroutineType):
        return "Await it in the body."
    if isinstance(value, io.IOBase):
        return "Read it in the body and return the content, or where it is kept."
    if isinstance(value, Iterator):
        return "Return list(...) of it."
    for builtin in _CONVERTIBLE:
        if isinstance(value, builtin):
            return f"Return {builtin.__name__}(...) of it."
    return "Return a dataclass, a dict, or an id by which it can be had again."
