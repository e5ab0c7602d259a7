"""A value for people and for HTTP: JSON that is good to read, and never an error."""

from __future__ import annotations

import math
from base64 import b64encode
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec

from durable.codec import records
from durable.codec.classes import kind_of
from durable.codec.refusal import DEPTH, shown_value

_NAMED_FLOATS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def plain(value: Any) -> Any:
    """The value as JSON builtins; its repr where there is nothing better."""
    return _plain(value, 0)


def _plain(value: Any, depth: int) -> Any:
    try:
        return _view(value, depth) if depth <= DEPTH else shown_value(value)
    except Exception:  # properties, reprs and iterators are code of the user's
        return shown_value(value)


def _view(value: Any, depth: int) -> Any:
    match value:
        case None | bool():
            return value
        case Enum():
            return _plain(value.value, depth + 1)
        case str():
            return str.encode(value, errors="replace").decode()
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else _NAMED_FLOATS[repr(float(value))]
        case bytes() | bytearray():
            return b64encode(value).decode()
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return msgspec.to_builtins(value)
        case Decimal() | UUID():
            return str(value)
        case dict():
            return _object(value, depth)
        case set() | frozenset():
            return sorted((_plain(item, depth + 1) for item in value), key=_order)
    cls: Any = type(value)
    if kind_of(cls) is not None:
        return _object(records.fields(value), depth)
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    return shown_value(value)


def _object(items: dict[Any, Any], depth: int) -> Any:
    """Pairs, where two keys would look the same."""
    named = {_name(key, depth): _plain(item, depth + 1) for key, item in items.items()}
    if len(named) == len(items):
        return named
    return [[_plain(key, depth + 1), _plain(item, depth + 1)] for key, item in items.items()]


def _name(key: Any, depth: int) -> str:
    name = _plain(key, depth + 1)
    return name if isinstance(name, str) else msgspec.json.encode(name).decode()


def _order(item: Any) -> tuple[bool, float, bytes]:
    """Numbers by size, then the rest by its text."""
    number = isinstance(item, (int, float))
    return not number, item if number else 0, msgspec.json.encode(item)
