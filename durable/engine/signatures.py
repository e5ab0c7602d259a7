"""What functions say of themselves: the type of a result, and whether a call fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import CodeType
from typing import Any, get_args, get_origin, get_type_hints

from durable.errors import InvalidCall

_SPELT: dict[tuple[CodeType, str], Any] = {}  # annotations written as text, by the code that carries them


def result_type(function: Callable[..., Any]) -> Any:
    """The annotation of what the function returns; Any when it says nothing. Asked at every replayed step."""
    function = _plain(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return _hinted_result(function)
    hint = function.__annotations__.get("return", Any) if function.__annotations__ else Any
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
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, hints.get(parameter.name, Any)) for parameter in parameters if parameter.kind in kinds]


def default_of(function: Callable[..., Any], parameter: str, otherwise: Any) -> Any:
    """The default of a parameter, if it has one."""
    import inspect

    default = inspect.signature(function).parameters[parameter].default
    return otherwise if default is inspect.Parameter.empty else default


def required_keyword(function: Callable[..., Any]) -> str | None:
    """The first parameter that is given by keyword alone and has no default."""
    import inspect

    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.default is inspect.Parameter.empty:
            return parameter.name
    return None


def check_call(function: Callable[..., Any], first: str, arguments: Sequence[object], what: str) -> None:
    """Raise InvalidCall when the function can't be called with `first` (a Step or an Undo) and the arguments.

    Costs microseconds, so it is asked only before a body really runs, never on replay.
    """
    import inspect

    try:
        signature = inspect.signature(function)
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


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The resolved annotations; empty when they can't be resolved (names that exist for type checkers alone)."""
    try:
        return get_type_hints(function)
    except Exception:
        return {}


def _plain(function: Callable[..., Any]) -> Any:
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__func__", function)


def _hinted_result(function: Any) -> Any:
    if not hasattr(function, "__annotations__"):  # an object that is callable: its class says
        function = type(function).__call__
    hint = hints_of(function).get("return", Any)
    if getattr(get_origin(hint), "__name__", "") in ("Coroutine", "Awaitable"):
        hint = get_args(hint)[-1]
    return hint
