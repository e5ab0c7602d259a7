"""The tagged form, inwards: a tree of plain JSON back to the value that it was packed from.

The tree was parsed a moment ago and is nobody else's, so lists and dicts of it are filled in place.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from durable.codec.display import error_text
from durable.codec.refusal import Refusal, index_step, key_step
from durable.codec.tagged import models, moments, records
from durable.codec.tagged.classes import find
from durable.codec.tagged.packing import TAG
from durable.errors import is_failure


def unpack(node: Any) -> Any:
    """The value; raises Refusal with its path."""
    if type(node) is list:
        return _list(node)
    if type(node) is not dict:
        return node
    return _tagged(node[TAG], node) if TAG in node else _named(node)


def _list(items: list[Any]) -> list[Any]:
    index = 0
    try:
        for index, item in enumerate(items):
            if type(item) is dict or type(item) is list:
                items[index] = unpack(item)
    except Refusal as refusal:
        refusal.within(index_step(index))
        raise
    return items


def _named(items: dict[str, Any]) -> dict[str, Any]:
    name = ""
    try:
        for name, item in items.items():
            if type(item) is dict or type(item) is list:
                items[name] = unpack(item)
    except Refusal as refusal:
        refusal.within(key_step(name))
        raise
    return items


def _tagged(tag: Any, node: dict[str, Any]) -> Any:
    unpacker = _UNPACKERS.get(tag) if isinstance(tag, str) else None
    if unpacker is None:
        raise Refusal(f"was stored as '{tag}', which this version does not know")
    try:
        return unpacker(node)
    except Refusal:
        raise
    except BaseException as error:  # damaged, or code of the user's (an Enum's _missing_, a default factory)
        if not is_failure(error):
            raise
        raise Refusal(f"was stored as '{tag}' and can't be read back: {error_text(error)}") from error


def _pairs(node: dict[str, Any]) -> dict[Any, Any]:
    unpacked: dict[Any, Any] = {}
    for packed, item in node["value"]:
        key = unpack(packed)
        try:
            unpacked[key] = unpack(item)
        except Refusal as refusal:
            refusal.within(key_step(key))
            raise
    return unpacked


def _member(node: dict[str, Any]) -> Any:
    cls = find(node["class"])
    if not issubclass(cls, Enum):
        raise Refusal(f"is a member of {node['class']}, which is no Enum any more")
    if "name" in node:
        return cls[node["name"]]
    return cls(unpack(node["value"]))


def _object(node: dict[str, Any]) -> Any:
    cls = find(node["class"])
    if "json" in node:
        return models.build_own(cls, node)
    return records.build(cls, {part: _part(part, node[part]) for part in _PARTS if part in node})


_PARTS = ("value", "more", "private", "set")


def _part(part: str, held: Any) -> Any:
    return held if part == "set" else _named(held)


_UNPACKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "float": lambda node: float(node["value"]),
    "int": lambda node: int(node["value"], 16),
    "tuple": lambda node: tuple(_list(node["value"])),
    "set": lambda node: set(_list(node["value"])),
    "frozenset": lambda node: frozenset(_list(node["value"])),
    "dict": _pairs,
    "bytes": lambda node: b64decode(node["value"], validate=True),
    "decimal": lambda node: Decimal(node["value"]),
    "uuid": lambda node: UUID(node["value"]),
    "datetime": moments.unpack_datetime,
    "time": moments.unpack_time,
    "date": lambda node: date.fromisoformat(node["value"]),
    "timedelta": lambda node: timedelta(*node["value"]),
    "text": lambda node: node["value"],  # plain JSON: what looks like a tag in it is none
    "enum": _member,
    "object": _object,
}
