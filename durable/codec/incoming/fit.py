"""Whether a Python value that a caller hands as input is of its annotation, and where it first is not (E10)."""

from __future__ import annotations

import typing
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Any, Literal, cast, get_args, get_origin

from durable.codec.display import error_text, qualified_name, shown_value
from durable.codec.incoming.annotations import bare, fields_of, has_fields, is_open, members, shown
from durable.codec.incoming.misfit import Misfit
from durable.codec.refusal import DEPTH, index_step, key_step, too_deep
from durable.codec.tagged import records
from durable.codec.tagged.classes import Kind, kind_of
from durable.errors import InvalidInput, is_failure

_ABSENT: Any = object()
_NUMBERS = {float: (float, int), complex: (complex, float, int)}
"""An int will do for a float, as for every type checker."""


def check(value: Any, annotation: Any) -> Any:
    """Return the value, if it is of the annotation or of a subclass; raises InvalidInput with the path of the misfit.

    An int where the annotation says float is a float in what is returned, as it is in input from outside: the value itself
    is left as it is.
    """
    try:
        return _check(value, annotation, 0)
    except Misfit as misfit:
        path = f"${misfit.path}"
        raise InvalidInput(f"{misfit.reason} - at `{path}`", path) from None


def _check(value: Any, annotation: Any, depth: int) -> Any:
    try:
        return _check_bare(value, bare(annotation), depth)
    except Misfit:
        raise
    except BaseException as error:  # properties, iterators and classes are code of the user's
        if not is_failure(error):
            raise
        raise Misfit(f"the value can't be read: {error_text(error)}") from error


def _check_bare(value: Any, annotation: Any, depth: int) -> Any:
    if is_open(annotation):
        return value
    if depth > DEPTH:
        raise Misfit(f"the value {too_deep().reason}")
    if union := members(annotation):
        return _check_union(value, annotation, union, depth)
    if get_origin(annotation) is Literal:
        if not any(type(value) is type(allowed) and value == allowed for allowed in get_args(annotation)):
            raise Misfit(f"Expected one of {shown(annotation)}, got {shown_value(value)}")
        return value
    return _check_instance(value, annotation, depth)


def _check_union(value: Any, annotation: Any, union: tuple[Any, ...], depth: int) -> Any:
    """As the first member has it that leaves it as it is, or else the first that it fits.

    Raises the misfit of the one member that is of the value's kind, or else of the whole union.
    """
    misfits, fits = [], []
    for member in union:
        try:
            fitted = _check(value, member, depth)
        except Misfit as misfit:
            misfits.append(misfit)
            continue
        if fitted is value:
            return value
        fits.append(fitted)
    if fits:
        return fits[0]
    inner = [misfit for misfit in misfits if misfit.path]
    raise inner[0] if len(inner) == 1 else _wrong(value, annotation)


def _check_instance(value: Any, annotation: Any, depth: int) -> Any:
    cls: Any = get_origin(annotation) or annotation
    if typing.is_typeddict(cls):
        return _check_typed_dict(value, annotation, depth)
    if not isinstance(cls, type):
        return value  # a TypeVar, or a name that was not resolved: nothing to hold the value to
    try:
        fits = isinstance(value, _NUMBERS.get(cls, cls))
    except TypeError:  # a Protocol that can't be asked
        return value
    if not fits:
        raise _wrong(value, annotation)
    if cls is float and type(value) is int:
        return float(value)
    if has_fields(annotation) and kind_of(cls) is not Kind.PYDANTIC:  # a model was validated when it was made
        return _check_fields(value, annotation, depth)
    if arguments := get_args(annotation):
        return _check_contents(value, cls, arguments, depth)
    return value


def _check_fields(value: Any, annotation: Any, depth: int) -> Any:
    try:
        expected = fields_of(annotation)
    except Exception:  # names that can't be resolved: the class is all that can be checked
        return value
    cls = type(value)
    changed = {}
    for name, of in expected.items():
        held = getattr(value, name, _ABSENT)
        if held is _ABSENT or records.is_default(cls, name, held):  # `limit: int = None` is the author's word
            continue
        fitted = _check_at(f".{name}", held, of, depth)
        if fitted is not held:
            changed[name] = fitted
    if not changed:
        return value
    parts = records.parts(value)
    return records.build(cls, {**parts, "value": {**parts["value"], **changed}})


def _check_typed_dict(value: Any, annotation: Any, depth: int) -> Any:
    if not isinstance(value, dict):
        raise _wrong(value, annotation)
    cls: Any = get_origin(annotation) or annotation
    changed = {}
    for name, of in fields_of(annotation).items():
        if name in value:
            fitted = _check_at(key_step(name), value[name], of, depth)
            if fitted is not value[name]:
                changed[name] = fitted
        elif name in cls.__required_keys__:
            raise Misfit(f"Object missing required field `{name}`", key_step(name))
    return {**value, **changed} if changed else value


def _check_contents(value: Any, cls: Any, arguments: tuple[Any, ...], depth: int) -> Any:
    if isinstance(value, Mapping) and len(arguments) == 2:
        keys = [_check_at(key_step(key), key, arguments[0], depth) for key in value]
        held = [_check_at(key_step(key), item, arguments[1], depth) for key, item in value.items()]
        return _rebuilt(value, [*value, *value.values()], [*keys, *held], lambda: dict(zip(keys, held, strict=True)))
    if isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping, Enum)):
        expected = arguments if cls is tuple and arguments[-1] is not Ellipsis else (arguments[0],) * len(value)
        if len(value) != len(expected):
            raise Misfit(f"Expected a tuple of {len(expected)}, got one of {len(value)}")
        ordered = not isinstance(value, (set, frozenset))
        items = list(value)
        fitted = [
            _check_at(index_step(index) if ordered else "[...]", item, of, depth)
            for index, (item, of) in enumerate(zip(items, expected, strict=True))
        ]
        return _rebuilt(value, items, fitted, lambda: cast("Any", type(value))(fitted))
    return value


def _rebuilt(value: Any, before: list[Any], after: list[Any], make: Callable[[], Any]) -> Any:
    """The container with what it holds now; a container of a class of the user's stays as it is."""
    same = all(mine is theirs for mine, theirs in zip(before, after, strict=True))
    return value if same or type(value) not in (list, tuple, set, frozenset, dict) else make()


def _check_at(step: str, value: Any, annotation: Any, depth: int) -> Any:
    try:
        return _check(value, annotation, depth + 1)
    except Misfit as misfit:
        misfit.path = step + misfit.path
        raise


def _wrong(value: Any, annotation: Any) -> Misfit:
    return Misfit(f"Expected `{shown(annotation)}`, got `{qualified_name(type(value))}`")
