"""Whether a Python value that a caller hands as input is of its annotation, and where it first is not (E10)."""

from __future__ import annotations

import typing
from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from durable.codec import records
from durable.codec.annotations import bare, fields_of, has_fields, is_open, members, shown
from durable.codec.classes import Kind, kind_of
from durable.codec.display import error_text, shown_value
from durable.codec.misfit import Misfit
from durable.codec.refusal import DEPTH, index_step, key_step, too_deep
from durable.errors import InvalidInput, is_failure

_ABSENT: Any = object()
_NUMBERS = {float: (float, int), complex: (complex, float, int)}
"""An int will do for a float, as for every type checker."""


def check(value: object, annotation: Any) -> None:
    """Nothing, if the value is of the annotation, or of a subclass; else InvalidInput with the path of the misfit."""
    try:
        _check(value, annotation, 0)
    except Misfit as misfit:
        path = f"${misfit.path}"
        raise InvalidInput(f"{misfit.reason} - at `{path}`", path) from None


def _check(value: Any, annotation: Any, depth: int) -> None:
    try:
        _check_bare(value, bare(annotation), depth)
    except Misfit:
        raise
    except BaseException as error:  # properties, iterators and classes are code of the user's
        if not is_failure(error):
            raise
        raise Misfit(f"the value can't be read: {error_text(error)}") from error


def _check_bare(value: Any, annotation: Any, depth: int) -> None:
    if is_open(annotation):
        return
    if depth > DEPTH:
        raise Misfit(f"the value {too_deep().reason}")
    if union := members(annotation):
        _check_union(value, annotation, union, depth)
    elif get_origin(annotation) is Literal:
        if not any(type(value) is type(allowed) and value == allowed for allowed in get_args(annotation)):
            raise Misfit(f"Expected one of {shown(annotation)}, got {shown_value(value)}")
    else:
        _check_instance(value, annotation, depth)


def _check_union(value: Any, annotation: Any, union: tuple[Any, ...], depth: int) -> None:
    """The misfit of the one member that is of the value's kind, or else of the whole union."""
    misfits = []
    for member in union:
        try:
            return _check(value, member, depth)
        except Misfit as misfit:
            misfits.append(misfit)
    inner = [misfit for misfit in misfits if misfit.path]
    raise inner[0] if len(inner) == 1 else _wrong(value, annotation)


def _check_instance(value: Any, annotation: Any, depth: int) -> None:
    cls: Any = get_origin(annotation) or annotation
    if typing.is_typeddict(cls):
        _check_typed_dict(value, annotation, depth)
        return
    if not isinstance(cls, type):
        return  # a TypeVar, or a name that was not resolved: nothing to hold the value to
    try:
        fits = isinstance(value, _NUMBERS.get(cls, cls))
    except TypeError:  # a Protocol that can't be asked
        return
    if not fits:
        raise _wrong(value, annotation)
    if has_fields(annotation) and kind_of(cls) is not Kind.PYDANTIC:  # a model was validated when it was made
        _check_fields(value, annotation, depth)
    elif arguments := get_args(annotation):
        _check_contents(value, cls, arguments, depth)


def _check_fields(value: Any, annotation: Any, depth: int) -> None:
    try:
        expected = fields_of(annotation)
    except Exception:  # names that can't be resolved: the class is all that can be checked
        return
    cls = type(value)
    for name, of in expected.items():
        held = getattr(value, name, _ABSENT)
        if held is _ABSENT or records.is_default(cls, name, held):  # `limit: int = None` is the author's word
            continue
        _check_at(f".{name}", held, of, depth)


def _check_typed_dict(value: Any, annotation: Any, depth: int) -> None:
    if not isinstance(value, dict):
        raise _wrong(value, annotation)
    cls: Any = get_origin(annotation) or annotation
    for name, of in fields_of(annotation).items():
        if name in value:
            _check_at(key_step(name), value[name], of, depth)
        elif name in cls.__required_keys__:
            raise Misfit(f"Object missing required field `{name}`", key_step(name))


def _check_contents(value: Any, cls: Any, arguments: tuple[Any, ...], depth: int) -> None:
    if isinstance(value, Mapping) and len(arguments) == 2:
        for key, held in value.items():
            _check_at(key_step(key), key, arguments[0], depth)
            _check_at(key_step(key), held, arguments[1], depth)
    elif cls is tuple and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            raise Misfit(f"Expected a tuple of {len(arguments)}, got one of {len(value)}")
        for index, (held, of) in enumerate(zip(value, arguments, strict=True)):
            _check_at(index_step(index), held, of, depth)
    elif isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping, Enum)):
        ordered = not isinstance(value, (set, frozenset))
        for index, held in enumerate(value):
            _check_at(index_step(index) if ordered else "[...]", held, arguments[0], depth)


def _check_at(step: str, value: Any, annotation: Any, depth: int) -> None:
    try:
        _check(value, annotation, depth + 1)
    except Misfit as misfit:
        misfit.path = step + misfit.path
        raise


def _wrong(value: Any, annotation: Any) -> Misfit:
    return Misfit(f"Expected `{shown(annotation)}`, got `{type(value).__qualname__}`")
