"""The resolved annotations of the user's functions, behind whatever wraps them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, ForwardRef, get_args, get_origin, get_type_hints

from durable.errors import is_failure

_NAMES = re.compile(r"[^\W\d]\w*")
_UNREADABLE = ""  # from Python 3.14 on annotations are evaluated when they are read, and may not be readable at once
_DEEPEST = 100  # wrappers around one function
_resolved: dict[tuple[int, int, str], tuple[CodeType, Mapping[str, Any], Any]] = {}
"""Results written as text, by the function's code and its module's names: both are kept, so that no id comes again."""


def result_type(function: Callable[..., Any]) -> Any:
    """Return the annotation of what the function returns; Any when it says nothing. Asked at every replayed step."""
    try:
        return _result_type(function)
    except BaseException as error:  # a callable object is code of the user's, and so is an annotation
        if not is_failure(error):
            raise
        return Any


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the resolved annotations, without those that can't be resolved (names for type checkers alone)."""
    function = innermost(function)
    local = _closure(function)
    try:
        return get_type_hints(function, localns=local)
    except Exception:
        return _each_by_itself(function, local)


def innermost(function: Any) -> Any:
    """Return what carries the annotations: the function behind decorators, bound arguments, its object or its class.

    Raises ValueError for one that wraps itself, as inspect does.
    """
    for _ in range(_DEEPEST):
        if type(function) is FunctionType:
            inner = getattr(function, "__wrapped__", None)
            if inner is None:
                return function
            function = inner
        elif issubclass(type(function), partial):
            function = function.func
        else:
            inner = getattr(function, "__func__", None) or getattr(function, "__wrapped__", None)
            if inner is None:
                inner = type(function).__call__
                if type(inner) is not FunctionType:  # a builtin, or a class
                    return inner
            function = inner
    raise ValueError("a function that wraps itself has no annotations")


def _result_type(function: Any) -> Any:
    function = innermost(function)
    if type(function) is not FunctionType:
        return _awaited(hints_of(function).get("return", Any))
    try:
        hint = function.__annotations__.get("return", Any) if function.__annotations__ else Any
    except Exception:
        hint = _UNREADABLE
    if type(hint) is str:
        return _of_text(function, hint)
    if hint is None:
        return type(None)
    return _awaited(hints_of(function).get("return", Any) if _has_text(hint) else hint)


def _of_text(function: FunctionType, hint: str) -> Any:
    """Kept, unless it names a variable of the functions around: that may be another class at each call."""
    key = id(function.__code__), id(function.__globals__), hint
    known = _resolved.get(key)
    if known is not None:
        return known[2]
    found = _awaited(hints_of(function).get("return", Any))
    if not set(_NAMES.findall(hint)) & set(function.__code__.co_freevars):
        _resolved[key] = function.__code__, function.__globals__, found
    return found


def _awaited(hint: Any) -> Any:
    if getattr(get_origin(hint), "__name__", "") in ("Coroutine", "Awaitable"):
        return get_args(hint)[-1]
    return hint


def _has_text(hint: Any) -> bool:
    return isinstance(hint, (str, ForwardRef)) or any(map(_has_text, get_args(hint)))


def _closure(function: Any) -> dict[str, Any]:
    """The variables of the functions around it, as they are now: where a local class is found by its name."""
    found = {}
    cells = getattr(function, "__closure__", None) or ()
    for name, cell in zip(function.__code__.co_freevars if cells else (), cells, strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _each_by_itself(function: Callable[..., Any], local: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, written in _as_written(function).items():
        try:
            holder = SimpleNamespace(__annotations__={name: written})
            found |= get_type_hints(holder, getattr(function, "__globals__", {}), local)
        except Exception:
            continue
    return found


def _as_written(function: Callable[..., Any]) -> Mapping[str, Any]:
    if sys.version_info >= (3, 14):
        from annotationlib import Format, get_annotations

        return get_annotations(function, format=Format.FORWARDREF)
    return getattr(function, "__annotations__", {})
