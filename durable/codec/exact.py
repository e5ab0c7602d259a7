"""Whether a value came back as it went: the same types and the same values all the way down.

Stricter than comparing the text that both encode to: a str for a StrEnum, a tuple for a list, a subclass without
fields of its own, a datetime's fold and zone all have the text of what they are mistaken for.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Any
from uuid import UUID

from durable.codec.refusal import DEPTH
from durable.codec.tagged import moments, records
from durable.codec.tagged.classes import Kind, kind_of


def same(one: Any, other: Any, depth: int = 0) -> bool:
    """False also for what this can't judge, what is nested too deep, and what lacks a field of its own."""
    if type(one) is not type(other) or depth > DEPTH:
        return False
    cls: Any = type(one)
    comparison = _COMPARISONS.get(cls)
    if comparison is not None:
        return comparison(one, other, depth)
    if isinstance(one, Enum):
        return one is other
    kind = kind_of(cls)
    if kind is Kind.DATACLASS:
        return _same_dataclass(one, other, depth)
    if kind is None:
        return False
    return _same_mapping(records.parts(one), records.parts(other), depth - 1)  # the parts are no level of their own


def _equal(one: Any, other: Any, depth: int) -> bool:
    return bool(one == other)


def _same_text(one: Any, other: Any, depth: int) -> bool:
    return repr(one) == repr(other)  # tells -0.0 from 0.0 and 1.0 from 1.00, and takes nan for nan


def _same_items(one: Any, other: Any, depth: int) -> bool:
    return len(one) == len(other) and all(
        same(mine, theirs, depth + 1) for mine, theirs in zip(one, other, strict=True)
    )


def _same_set(one: Any, other: Any, depth: int) -> bool:
    mine = {value: value for value in one}
    return len(one) == len(other) and all(value in mine and same(mine[value], value, depth + 1) for value in other)


def _same_mapping(one: dict[Any, Any], other: dict[Any, Any], depth: int) -> bool:
    """In the same order: it is part of what a dict shows."""
    return len(one) == len(other) and all(
        same(key, also, depth + 1) and same(mine, theirs, depth + 1)
        for (key, mine), (also, theirs) in zip(one.items(), other.items(), strict=True)
    )


def _same_dataclass(one: Any, other: Any, depth: int) -> bool:
    """msgspec neither sets nor writes a field that is at its class's default: stored so, it would change with it."""
    if not (records.is_whole(one) and records.is_whole(other)):
        return False
    mine, theirs = records.attributes(one), records.attributes(other)
    return mine.keys() == theirs.keys() and all(same(mine[name], theirs[name], depth + 1) for name in mine)


def _same_moment(one: Any, other: Any, depth: int) -> bool:
    return moments.same(one, other)


_COMPARISONS: dict[type, Callable[[Any, Any, int], bool]] = {
    **dict.fromkeys((NoneType, bool, int, str, bytes, date, timedelta, UUID), _equal),
    **dict.fromkeys((float, Decimal), _same_text),
    **dict.fromkeys((list, tuple), _same_items),
    **dict.fromkeys((set, frozenset), _same_set),
    **dict.fromkeys((datetime, time), _same_moment),
    dict: _same_mapping,
}
