"""What functions say of themselves: their parameters and results, and whether a call fits."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from inspect import Parameter, Signature
from operator import or_
from types import FunctionType, UnionType
from typing import Any, Union, get_args, get_origin
from weakref import WeakKeyDictionary

from durable.codec.display import qualified_name, shown_value
from durable.errors import InvalidCall, is_failure
from durable.usercode.hints import hints_of, result_type

__all__ = [
    "check_call",
    "checked_type",
    "default_of",
    "hints_of",
    "break_type",
    "loop_types",
    "state_type",
    "name_of",
    "parameter_types",
    "required_keyword",
    "result_type",
    "signature_of",
]

_known: WeakKeyDictionary[FunctionType, Signature] = WeakKeyDictionary()  # looking costs 20 µs, at every body
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def parameter_types(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    """Return the positional parameters of a function, each with its annotation (Any when it has none)."""
    hints = hints_of(function)
    return [
        (parameter.name, hints.get(parameter.name, Any))
        for parameter in signature_of(function).parameters.values()
        if parameter.kind in _POSITIONAL
    ]


def loop_types(body: Callable[..., Any]) -> tuple[Any, Any]:
    """Return the types of a loop's state and of what it breaks with, by its body's annotations; Any where they say none.

    The state is the body's second parameter, or what it continues with: `-> Continue[State] | Break[Result]`.
    """
    return state_type(body), break_type(body)


def state_type(body: Callable[..., Any]) -> Any:
    """Return the type of a loop's state."""
    state = _state_parameter(body)
    return _inside(_outcomes(body), "Continue") if state is Any else state


def break_type(body: Callable[..., Any]) -> Any:
    """Return the type of what a loop breaks with."""
    return _inside(_outcomes(body), "Break")


def _outcomes(body: Callable[..., Any]) -> Sequence[Any]:
    returned = result_type(body)
    return get_args(returned) if get_origin(returned) in (Union, UnionType) else (returned,)


def _state_parameter(body: Callable[..., Any]) -> Any:
    try:
        return parameter_types(body)[1][1]
    except BaseException as error:  # no second one, or no signature at all
        if not is_failure(error):
            raise
        return Any


def _inside(outcomes: Sequence[Any], name: str) -> Any:
    """The argument of Continue[...] or Break[...]; of several, all that they may be."""
    found = [
        get_args(outcome)[0]
        for outcome in outcomes
        if getattr(get_origin(outcome), "__qualname__", "") == name and len(get_args(outcome)) == 1
    ]
    bare = any(getattr(outcome, "__qualname__", "") == name and not get_args(outcome) for outcome in outcomes)
    return Any if bare or not found else reduce(or_, found)


def default_of(function: Callable[..., Any], parameter: str, otherwise: Any) -> Any:
    """Return the default of a parameter, if it has one."""
    default = signature_of(function).parameters[parameter].default
    return otherwise if default is Parameter.empty else default


def required_keyword(function: Callable[..., Any]) -> str | None:
    """Return the first parameter that is given by keyword alone and has no default."""
    for parameter in signature_of(function).parameters.values():
        if parameter.kind is Parameter.KEYWORD_ONLY and parameter.default is Parameter.empty:
            return parameter.name
    return None


def check_call(function: Callable[..., Any], first: str, arguments: Sequence[object], what: str) -> None:
    """Raise InvalidCall when the function can't be called with `first` (a Step or an Undo) and the arguments.

    Costs microseconds, so it is asked only before a body really runs, never on replay.
    """
    try:
        signature = signature_of(function)
    except BaseException as error:  # builtins that have none, objects that refuse to say
        if not is_failure(error):
            raise
        return
    try:
        signature.bind(first, *arguments)
    except TypeError as error:
        count = len(arguments)
        raise InvalidCall(
            f"{what}: {name_of(function)}{signature} can't be called with the {first} and {count} "
            f"argument{'s' * (count != 1)}: {error}. It gets the {first} first, then the arguments of the call."
        ) from None


def name_of(function: object) -> str:
    """Return a function's qualified name, for messages; of another callable its repr."""
    try:
        name = getattr(function, "__qualname__", None)
    except BaseException as error:
        if not is_failure(error):
            raise
        name = None
    if isinstance(function, type):
        return qualified_name(function)
    return name if type(name) is str else shown_value(function)


def signature_of(function: Callable[..., Any]) -> Signature:
    """Return the parameters. Annotations may be text: they are shown, never asked for."""
    if type(function) is not FunctionType or function.__dict__:  # a wrapper says in its attributes what it wraps
        return _signature_of(function)
    if (known := _known.get(function)) is None:
        known = _known[function] = _signature_of(function)
    return known


def _signature_of(function: Callable[..., Any]) -> Signature:
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.STRING)
    return inspect.signature(function)


def checked_type(given: Any, what: str) -> Any:
    """Return a type that a call asserts, as it is; raises InvalidCall for anything else, which would be no check at all."""
    known = isinstance(given, type) or given is None or get_origin(given) is not None
    if not known and type(given).__module__ not in ("typing", "typing_extensions", "types"):
        raise InvalidCall(f"{what} is a type, such as Order or list[Order], not {shown_value(given)}")
    return given
