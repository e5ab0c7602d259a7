"""Input by annotations that msgspec can't read: unions of classes, and whatever holds them.

It needs a tag to tell dataclasses apart. Here each member is tried: one that fits is the one.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Any, get_args, get_origin

import msgspec

from durable.codec.incoming.annotations import MAPPINGS, SEQUENCES, SETS, bare, fields_of, has_fields, members, shown
from durable.codec.incoming.misfit import Misfit
from durable.codec.refusal import index_step, key_step
from durable.codec.tagged.classes import Kind, kind_of
from durable.errors import CodecError

Read = Callable[[bytes, Any], Any]
"""Reads a part of the text by its annotation; raises Misfit."""


def read(text: bytes, annotation: Any, part: Read) -> Any:
    """Return a value of the annotation from JSON text; raises Misfit, and CodecError for what no JSON can be read by."""
    annotation = bare(annotation)
    if union := members(annotation):
        return _member(text, union, part)
    cls: Any = get_origin(annotation) or annotation
    if has_fields(annotation):
        return _object(text, annotation, cls, part)
    arguments = get_args(annotation)
    if arguments and cls in MAPPINGS:
        pairs = _parsed(text, GenericAlias(dict, (arguments[0], msgspec.Raw)))
        return {key: _at(key_step(key), raw, arguments[1], part) for key, raw in pairs.items()}
    if arguments and (cls in SEQUENCES or cls in SETS or cls is tuple):
        return _items(text, cls, arguments, part)
    raise unreadable(annotation, "it is not a class with fields, nor a union or a container of such")


def unreadable(annotation: Any, reason: str) -> CodecError:
    """The error for an annotation that no JSON can be read by."""
    return CodecError(
        f"no input can be read as {annotation}: {reason}. Annotate a dataclass, or leave the annotation out and read the "
        "plain JSON."
    )


def _member(text: bytes, union: Iterable[Any], part: Read) -> Any:
    fits: list[tuple[Any, Any]] = []
    misfits: list[tuple[Any, Misfit]] = []
    for annotation in _alternatives(union):
        try:
            fits.append((annotation, part(text, annotation)))
        except Misfit as misfit:
            misfits.append((annotation, misfit))
    if not fits:
        raise _misfit_of_all(text, misfits)
    best = fits if len(fits) == 1 else [fit for fit in fits if _knows_all(fit[0], text)] or fits
    if len(best) > 1:
        alike = " and ".join(shown(annotation) for annotation, _ in best)
        raise Misfit(f"fits {alike} alike: give them a field that tells them apart, such as kind: Literal['card']")
    return best[0][1]


def _misfit_of_all(text: bytes, misfits: list[tuple[Any, Misfit]]) -> Misfit:
    """That of the one member which the text is meant for, if its fields tell which; else what all of them lack."""
    meant = [misfit for annotation, misfit in misfits if _knows_all(annotation, text)]
    if len(meant) == 1:
        return meant[0]
    each = (f"{shown(annotation)} ({misfit.reason})" for annotation, misfit in misfits)
    return Misfit(f"fits none of {', '.join(each)}")


def _alternatives(union: Iterable[Any]) -> list[Any]:
    """The classes and containers one by one, and the rest together: msgspec tells an int from a float and from text."""
    single: list[Any] = []
    together: list[Any] = []
    for member in map(bare, union):
        cls = get_origin(member) or member
        (single if has_fields(member) or cls in MAPPINGS | SEQUENCES | SETS | {tuple} else together).append(member)
    try:
        rest = [reduce(or_, together)] if together else []
        msgspec.json.Decoder(rest[0] if rest else None)
    except TypeError:
        rest = together
    return [*single, *rest]


def _knows_all(annotation: Any, text: bytes) -> bool:
    """Whether it has every field that the text gives."""
    try:
        return has_fields(annotation) and fields_of(annotation).keys() >= _parsed(text, dict[str, msgspec.Raw]).keys()
    except Misfit:  # no object
        return False


def _object(text: bytes, annotation: Any, cls: Any, part: Read) -> Any:
    if kind_of(cls) is Kind.PYDANTIC:
        raise unreadable(annotation, "pydantic models read themselves")
    expected = fields_of(annotation)
    if kind_of(cls) is Kind.NAMED_TUPLE:  # which is an array, as it is for msgspec
        items = _parsed(text, list[msgspec.Raw])
        if len(items) > len(expected):
            raise Misfit(f"Expected `array` of at most length {len(expected)}, got {len(items)}")
        given = dict(zip(expected, items, strict=False))
    else:
        given = _parsed(text, dict[str, msgspec.Raw])
    values = {name: _at(key_step(name), given[name], of, part) for name, of in expected.items() if name in given}
    for name in _required(cls):
        if name not in values:
            raise Misfit(f"Object missing required field `{name}`", key_step(name))
    return values if typing.is_typeddict(cls) else cls(**values)


def _required(cls: Any) -> Iterable[str]:
    if typing.is_typeddict(cls):
        return list(cls.__required_keys__)
    if kind_of(cls) is Kind.NAMED_TUPLE:
        return [name for name in cls._fields if name not in cls._field_defaults]
    if kind_of(cls) is Kind.STRUCT:
        return [field.name for field in msgspec.structs.fields(cls) if field.required]
    missing = dataclasses.MISSING
    return [
        field.name
        for field in dataclasses.fields(cls)
        if field.init and field.default is missing and field.default_factory is missing
    ]


def _items(text: bytes, cls: Any, arguments: tuple[Any, ...], part: Read) -> Any:
    given = _parsed(text, list[msgspec.Raw])
    if cls is tuple and arguments[-1] is not Ellipsis:
        if len(given) != len(arguments):
            raise Misfit(f"Expected `array` of length {len(arguments)}, got {len(given)}")
        annotations = arguments
    else:
        annotations = (arguments[0],) * len(given)
    values = [_at(index_step(at), raw, of, part) for at, (raw, of) in enumerate(zip(given, annotations, strict=True))]
    make = tuple if cls is tuple else frozenset if cls is frozenset else set if cls in SETS else list
    return make(values)


def _at(step: str, raw: msgspec.Raw, annotation: Any, part: Read) -> Any:
    try:
        return part(bytes(raw), annotation)
    except Misfit as misfit:
        raise Misfit(misfit.reason, step + misfit.path) from misfit


def _parsed(text: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise Misfit(str(error)) from error
