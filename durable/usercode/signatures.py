"""What functions say of themselves: the type of a result, and whether a call fits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import CodeType, FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from durable.errors import InvalidCall

if TYPE_CHECKING:
    from inspect import Signature

_SPELT: dict[tuple[CodeType, str], Any] = {}  # annotations written as text, by the code that carries them
_UNREADABLE = ""  # from Python 3.14 on annotations are evaluated when they are read, and may not be readable at once


def result_type(function: Callable[..., Any]) -> Any:
    """The annotation of what the function returns; Any when it says nothing. Asked at every replayed step."""
    function = _plain(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return _hinted_result(function)
    try:
        hint = function.__annotations__.get("return", Any) if function.__annotations__ else Any
    except Exception:
        hint = _UNREADABLE
    if isinstance(hint, str):
        known = _SPELT.get((code, hint), _SPELT)
        if known is _SPELT:
            known = _SPELT[code, hint] = _hinted_result(function)
        return known
    if hint is None:
        return type(None)
    return hint if type(hint) is type or hint is Any else _hinted_result(function)


def parameter_types(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    """The positional parameters of a function, each with its annotation (Any when it has none)."""
    import inspect  # not on the path of a replay

    hints = hints_of(function)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = signature_of(function).parameters.values()
    return [(parameter.name, hints.get(parameter.name, Any)) for parameter in parameters if parameter.kind in kinds]


def default_of(function: Callable[..., Any], parameter: str, otherwise: Any) -> Any:
    """The default of a parameter, if it has one."""
    import inspect

    default = signature_of(function).parameters[parameter].default
    return otherwise if default is inspect.Parameter.empty else default


def required_keyword(function: Callable[..., Any]) -> str | None:
    """The first parameter that is given by keyword alone and has no default."""
    import inspect

    for parameter in signature_of(function).parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.default is inspect.Parameter.empty:
            return parameter.name
    return None


def check_call(function: Callable[..., Any], first: str, arguments: Sequence[object], what: str) -> None:
    """Raise InvalidCall when the function can't be called with `first` (a Step or an Undo) and the arguments.

    Costs microseconds, so it is asked only before a body really runs, never on replay.
    """
    try:
        signature = signature_of(function)
    except (TypeError, ValueError):  # builtins that have none
        return
    try:
        signature.bind(first, *arguments)
    except TypeError as error:
        name = getattr(function, "__qualname__", repr(function))
        count = len(arguments)
        raise InvalidCall(
            f"{what}: {name}{signature} can't be called with the {first} and {count} argument{'s' * (count != 1)}: "
            f"{error}. It gets the {first} first, then the arguments of the call."
        ) from None


def signature_of(function: Callable[..., Any]) -> Signature:
    """The parameters. Annotations may be text: they are shown, never asked for."""
    import inspect

    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.STRING)
    return inspect.signature(function)


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The resolved annotations, without those that can't be resolved (names that exist for type checkers alone)."""
    function = _plain(function)
    try:
        return get_type_hints(function)
    except Exception:
        return _each_by_itself(function)


def _each_by_itself(function: Callable[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, written in _as_written(function).items():
        try:
            found |= get_type_hints(SimpleNamespace(__annotations__={name: written}), function.__globals__)
        except Exception:
            continue
    return found


def _as_written(function: Callable[..., Any]) -> Mapping[str, Any]:
    if sys.version_info >= (3, 14):
        from annotationlib import Format, get_annotations

        return get_annotations(function, format=Format.FORWARDREF)
    return getattr(function, "__annotations__", {})


def _plain(function: Any) -> Any:
    """What carries the annotations: a function, behind its bound arguments, its object, its cache or its class."""
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, FunctionType):
        return function
    bound = getattr(function, "__func__", None) or getattr(function, "__wrapped__", None)
    return bound if bound is not None else type(function).__call__


def _hinted_result(function: Any) -> Any:
    hint = hints_of(function).get("return", Any)
    if getattr(get_origin(hint), "__name__", "") in ("Coroutine", "Awaitable"):
        hint = get_args(hint)[-1]
    return hint


def checked_type(given: Any, what: str) -> Any:
    """A type that a call asserts, as it is; raises InvalidCall for anything else, which would be no check at all."""
    known = isinstance(given, type) or given is None or get_origin(given) is not None
    if not known and type(given).__module__ not in ("typing", "typing_extensions", "types"):
        raise InvalidCall(f"{what} is a type, such as Order or list[Order], not {given!r}")
    return given
