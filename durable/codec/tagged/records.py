"""Taking apart what has named fields (dataclass, NamedTuple, Struct, pydantic model), and building it again.

Nothing is called on the way back, no `__init__`, `__post_init__` or validator: they ran when the value was made, and
running twice would change it. Fields that the class gained since then take their defaults; lost ones are dropped.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property, lru_cache
from typing import Any

from durable.codec.refusal import Refusal, missing
from durable.codec.tagged import models
from durable.codec.tagged.classes import Kind, kind_of

Parts = dict[str, Any]
"""`value` has the fields; `more`, `private` and `set` only where there is something: see `parts`."""

_ABSENT: Any = object()


def parts(value: Any) -> Parts:
    """All that the value holds: its fields under `value`, a dataclass's other attributes and a model's extra ones
    under `more`, a model's private ones under `private`, and the fields that were set, if not all, under `set`."""
    cls: Any = type(value)
    match kind_of(cls):
        case Kind.NAMED_TUPLE:
            return {"value": dict(zip(cls._fields, value, strict=True))}
        case Kind.STRUCT:
            return {"value": {name: getattr(value, name) for name in cls.__struct_fields__}}
        case Kind.PYDANTIC:
            return models.parts(value)
        case _:
            return _dataclass_parts(value)


def fields(value: Any) -> dict[str, Any]:
    """The value's fields by name."""
    named: dict[str, Any] = parts(value)["value"]
    return named


def is_whole(value: Any) -> bool:
    """Whether a dataclass's value itself holds all its fields, and leaves none to its class."""
    cls: Any = type(value)
    held: dict[str, Any] | None = getattr(value, "__dict__", None)
    return held is None or held.keys() >= _declared(cls).keys()


def attributes(value: Any) -> dict[str, Any]:
    """All the attributes of a dataclass's value that are data, in one dict."""
    cls: Any = type(value)
    declared = _declared(cls)
    held: dict[str, Any] | None = getattr(value, "__dict__", None)
    if held is None:
        return {name: getattr(value, name) for name in declared if hasattr(value, name)}
    if len(held) == len(declared):
        return held
    return {name: held[name] for name in held if name in declared or _is_data(cls, name)}


def names(cls: Any) -> tuple[str, ...]:
    """The names of a class's fields, in their order; not for pydantic models."""
    match kind_of(cls):
        case Kind.NAMED_TUPLE:
            return tuple(cls._fields)
        case Kind.STRUCT:
            return tuple(cls.__struct_fields__)
        case _:
            return tuple(_declared(cls))


def is_default(cls: Any, name: str, value: object) -> bool:
    """Whether this is the very object that the field has by default."""
    match kind_of(cls):
        case Kind.NAMED_TUPLE:
            return name in cls._field_defaults and cls._field_defaults[name] is value
        case Kind.DATACLASS:
            return name in _declared(cls) and _declared(cls)[name].default is value
        case _:
            return False


def build(cls: Any, given: Parts) -> Any:
    """A value of the class from its parts; refuses when a field without a default is missing."""
    values: dict[str, Any] = given["value"]
    match kind_of(cls):
        case Kind.NAMED_TUPLE:
            return tuple.__new__(cls, [_value(cls, name, values, cls._field_defaults) for name in cls._fields])
        case Kind.STRUCT:
            return cls(**{name: values[name] for name in cls.__struct_fields__ if name in values})
        case Kind.PYDANTIC:
            return models.build(cls, given)
        case Kind.DATACLASS:
            return _build_dataclass(cls, values, given.get("more", {}))
        case _:
            raise Refusal(f"is stored with fields, but {cls.__qualname__} is an Enum now")


@lru_cache(maxsize=1024)
def _declared(cls: Any) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(cls)}


def _dataclass_parts(value: Any) -> Parts:
    cls: Any = type(value)
    declared = _declared(cls)
    values = {name: found for name in declared if (found := getattr(value, name, _ABSENT)) is not _ABSENT}
    held = getattr(value, "__dict__", {})
    more = {name: held[name] for name in held if name not in declared and _is_data(cls, name)}
    return {"value": values, "more": more} if more else {"value": values}


def _is_data(cls: type, name: str) -> bool:
    """Not what Python or functools puts there: `__orig_class__` of a generic, the memory of a cached property."""
    return not name.startswith("__") and not isinstance(getattr(cls, name, None), cached_property)


def _build_dataclass(cls: Any, values: dict[str, Any], more: dict[str, Any]) -> Any:
    value = object.__new__(cls)
    for name, field in _declared(cls).items():
        if name in values:
            object.__setattr__(value, name, values[name])  # frozen classes refuse the plain assignment
        elif field.default is not dataclasses.MISSING:
            object.__setattr__(value, name, field.default)
        elif field.default_factory is not dataclasses.MISSING:
            object.__setattr__(value, name, field.default_factory())
        elif field.init:
            raise missing(cls, name)
    if hasattr(value, "__dict__"):
        value.__dict__.update(more)
    return value


def _value(cls: type, name: str, values: dict[str, Any], defaults: dict[str, Any]) -> Any:
    if name in values:
        return values[name]
    if name in defaults:
        return defaults[name]
    raise missing(cls, name)
