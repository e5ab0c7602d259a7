"""A value for people and for HTTP: JSON that is good to read, and never an error."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Any
from uuid import UUID

import msgspec

from durable.codec.display import shown_value
from durable.codec.refusal import DEPTH
from durable.codec.tagged import records
from durable.codec.tagged.classes import kind_of
from durable.errors import is_failure

_NAMED_FLOATS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def plain(value: Any) -> Any:
    """Return the value as JSON builtins; its repr where there is nothing better."""
    return _plain(value, 0)


def _plain(value: Any, depth: int) -> Any:
    try:
        return _view(value, depth) if depth <= DEPTH else shown_value(value)
    except BaseException as error:  # properties, reprs and iterators are code of the user's
        if not is_failure(error):
            raise
        return shown_value(value)


def _view(value: Any, depth: int) -> Any:
    """By the value's true class, and by the methods of the builtin under it: both can be overridden."""
    cls: Any = type(value)
    for kinds, view in _VIEWS.items():
        if issubclass(cls, kinds):
            return view(value, depth)
    if kind_of(cls) is not None:
        return _object(records.fields(value), depth)
    for kind in (list, tuple):
        if issubclass(cls, kind):
            return [_plain(item, depth + 1) for item in kind.__iter__(value)]
    return shown_value(value)


def _float(value: float) -> float | str:
    exact = float.__pos__(value)
    return exact if math.isfinite(exact) else _NAMED_FLOATS[repr(exact)]


def _set(value: Any, depth: int) -> list[Any]:
    items = (set if issubclass(type(value), set) else frozenset).__iter__(value)
    return sorted((_plain(item, depth + 1) for item in items), key=_order)


def _object(items: dict[Any, Any], depth: int) -> Any:
    """Pairs, where two keys would look the same."""
    pairs = list(dict.items(items))
    named = {_name(key, depth): _plain(item, depth + 1) for key, item in pairs}
    if len(named) == len(pairs):
        return named
    return [[_plain(key, depth + 1), _plain(item, depth + 1)] for key, item in pairs]


def _name(key: Any, depth: int) -> str:
    name = _plain(key, depth + 1)
    return name if isinstance(name, str) else msgspec.json.encode(name).decode()


def _order(item: Any) -> tuple[bool, float, bytes]:
    """Numbers by size, then the rest by its text."""
    number = isinstance(item, (int, float))
    return not number, item if number else 0, msgspec.json.encode(item)


_VIEWS: dict[tuple[type, ...], Callable[[Any, int], Any]] = {
    (NoneType, bool): lambda value, depth: value,
    (Enum,): lambda value, depth: _plain(value.value, depth + 1),
    (str,): lambda value, depth: str.encode(value, errors="replace").decode(),
    (int,): lambda value, depth: int.__pos__(value),
    (float,): lambda value, depth: _float(value),
    (bytes, bytearray): lambda value, depth: b64encode(value).decode(),
    (datetime,): lambda value, depth: datetime.isoformat(value),
    (date,): lambda value, depth: date.isoformat(value),
    (time,): lambda value, depth: time.isoformat(value),
    (timedelta,): lambda value, depth: msgspec.to_builtins(value),
    (Decimal,): lambda value, depth: Decimal.__str__(value),
    (UUID,): lambda value, depth: UUID.__str__(value),
    (dict,): _object,
    (set, frozenset): _set,
}
