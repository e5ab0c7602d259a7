"""The tagged form, outwards: a value to a tree of plain JSON by its actual type, whatever the annotation says.

A tag is an object whose "~" names the type. A dict that has that key itself, or keys that aren't strings, is tagged
too, as pairs: so an object with "~" is always a tag.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Any
from uuid import UUID

import msgspec

from durable.codec.refusal import DEPTH, Refusal, index_step, key_step, misbehaving, too_deep, unstorable
from durable.codec.tagged import models, moments, records
from durable.codec.tagged.classes import Kind, kind_of, reference
from durable.errors import is_failure

TAG = "~"
LARGE = 1 << 4096
"""From here on an int is stored as hexadecimal: Python refuses to print or read more than 4300 decimal digits."""


def pack(value: Any, depth: int = 0) -> Any:
    """Return the value as JSON builtins; raises Refusal with its path, and nothing else, whatever the value does."""
    try:
        packer = _PACKERS.get(type(value))
        return packer(value, depth) if packer is not None else _instance(value, depth)
    except Refusal:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise misbehaving(value, error) from error


def _itself(value: Any, depth: int) -> Any:
    return value


def _text(value: str, depth: int = 0) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Refusal(
                f"is text with a lone surrogate (U+{ord(value[error.start]):04X} at {error.start}), which is not valid "
                "Unicode. Return bytes, or replace what can't be encoded: text.encode(errors='replace').decode()."
            ) from error
    return value


def _integer(value: int, depth: int) -> Any:
    return value if -LARGE < value < LARGE else {TAG: "int", "value": hex(value)}


def _float(value: float, depth: int) -> Any:
    return value if math.isfinite(value) else {TAG: "float", "value": repr(value)}


def _items(values: Iterable[Any], depth: int) -> list[Any]:
    if depth >= DEPTH:
        raise too_deep()
    packed: list[Any] = []
    try:
        for value in values:
            packed.append(pack(value, depth + 1))
    except Refusal as refusal:
        refusal.within(index_step(len(packed)))
        raise
    return packed


def _set(tag: str, values: Iterable[Any], depth: int) -> dict[str, Any]:
    """Sorted by their text: bytes must not depend on the order of hashes."""
    if depth >= DEPTH:
        raise too_deep()
    try:
        packed = [pack(value, depth + 1) for value in values]
    except Refusal as refusal:
        refusal.within("[...]")
        raise
    return {TAG: tag, "value": sorted(packed, key=msgspec.json.encode)}


def _mapping(values: dict[Any, Any], depth: int) -> dict[str, Any]:
    if depth >= DEPTH:
        raise too_deep()
    if not all(type(key) is str and key != TAG for key in values):
        return {TAG: "dict", "value": _pairs(values, depth)}
    return named(values, depth)


def named(values: dict[str, Any], depth: int) -> dict[str, Any]:
    """What is stored under names; the names are kept as they are."""
    packed = {}
    name = ""
    try:
        for name, value in values.items():
            packed[_text(name)] = pack(value, depth + 1)
    except Refusal as refusal:
        refusal.within(key_step(name))
        raise
    return packed


def _pairs(values: dict[Any, Any], depth: int) -> list[list[Any]]:
    packed = []
    key: Any = None
    try:
        for key, value in values.items():
            packed.append([pack(key, depth + 1), pack(value, depth + 1)])
    except Refusal as refusal:
        refusal.within(key_step(key))
        raise
    return packed


def _instance(value: Any, depth: int) -> Any:
    """Of a class of the user's, or not storable."""
    cls: Any = type(value)
    kind = kind_of(cls)
    if kind is None:
        raise unstorable(value)
    if depth >= DEPTH:
        raise too_deep()
    if kind is Kind.ENUM:
        return _member(value)
    packed = {TAG: "object", "class": reference(cls)}
    try:
        return packed | {part: _part(part, held, depth) for part, held in records.parts(value).items()}
    except Refusal:
        if kind is Kind.PYDANTIC and (own := models.own_parts(value)) is not None:
            return packed | own
        raise


def _part(part: str, held: Any, depth: int) -> Any:
    return held if part == "set" else named(held, depth)


def _member(member: Enum) -> dict[str, Any]:
    """By its value, as the typed form has it, if that is text or a number; else by its name."""
    cls: Any = type(member)
    packed = {TAG: "enum", "class": reference(cls)}
    if type(member.value) in (str, int) and cls(member.value) is member:
        return packed | {"value": pack(member.value)}
    return packed | {"name": member.name}


_PACKERS: dict[type, Callable[[Any, int], Any]] = {
    NoneType: _itself,
    bool: _itself,
    str: _text,
    int: _integer,
    float: _float,
    list: _items,
    dict: _mapping,
    tuple: lambda value, depth: {TAG: "tuple", "value": _items(value, depth)},
    set: lambda value, depth: _set("set", value, depth),
    frozenset: lambda value, depth: _set("frozenset", value, depth),
    bytes: lambda value, depth: {TAG: "bytes", "value": b64encode(value).decode()},
    Decimal: lambda value, depth: {TAG: "decimal", "value": str(value)},
    UUID: lambda value, depth: {TAG: "uuid", "value": str(value)},
    datetime: lambda value, depth: moments.pack("datetime", value),
    time: lambda value, depth: moments.pack("time", value),
    date: lambda value, depth: {TAG: "date", "value": value.isoformat()},
    timedelta: lambda value, depth: {TAG: "timedelta", "value": [value.days, value.seconds, value.microseconds]},
}
