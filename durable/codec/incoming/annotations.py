"""What an annotation promises: whether it is given at all, what fields it has, and whether it is closed.

Closed: every value of it can be told from its plain JSON by the annotation alone. Its leaves are those of S12, its
containers name what they hold, its classes have closed fields, and its only union is with None.
"""

from __future__ import annotations

import collections.abc as abc
import inspect
import typing
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NewType, NotRequired, Required, TypeVar, Union, get_args, get_origin
from uuid import UUID

from durable.codec.tagged import records
from durable.codec.tagged.classes import Kind, kind_of

LEAVES: frozenset[Any] = frozenset(
    {NoneType, str, int, float, bool, bytes, Decimal, datetime, date, time, timedelta, UUID}
)
SETS: frozenset[Any] = frozenset({set, frozenset, abc.Set, abc.MutableSet})
MAPPINGS: frozenset[Any] = frozenset({dict, abc.Mapping, abc.MutableMapping})
SEQUENCES: frozenset[Any] = frozenset({list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable})
_OPEN = (Any, object, inspect.Parameter.empty)


def is_open(annotation: Any) -> bool:
    """Nothing is promised: no annotation, Any or object."""
    return any(annotation is nothing for nothing in _OPEN)


def bare(annotation: Any) -> Any:
    """The type itself, without Annotated, Required, NewType and named aliases around it."""
    while True:
        origin = get_origin(annotation)
        if origin in (Annotated, Required, NotRequired, typing.Final, typing.ClassVar):
            annotation = get_args(annotation)[0]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":  # `type Orders = list[Order]`, from Python 3.12 on
            annotation = annotation.__value__
        else:
            return NoneType if annotation is None else annotation


def shown(annotation: Any) -> str:
    """A class by its name, as msgspec has it; a generic or a union with all of it."""
    named = isinstance(annotation, type) and get_origin(annotation) is None
    return annotation.__qualname__ if named else str(annotation).replace("typing.", "")


def members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; nothing for another annotation."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()


def has_fields(annotation: Any) -> bool:
    cls = get_origin(annotation) or annotation
    return isinstance(cls, type) and (typing.is_typeddict(cls) or kind_of(cls) not in (None, Kind.ENUM))


def fields_of(annotation: Any) -> dict[str, Any]:
    """The annotations of a class's fields by name, the parameters of a generic one filled in."""
    try:
        return _fields_of(annotation)
    except TypeError:  # not hashable
        return _fields_of.__wrapped__(annotation)


@lru_cache(maxsize=1024)
def _fields_of(annotation: Any) -> dict[str, Any]:
    cls: Any = get_origin(annotation) or annotation
    if kind_of(cls) is Kind.PYDANTIC:
        return {name: info.annotation for name, info in cls.__pydantic_fields__.items()}
    hints = typing.get_type_hints(cls, include_extras=True)
    names = hints if typing.is_typeddict(cls) else records.names(cls)
    given = dict(zip(getattr(cls, "__parameters__", ()), get_args(annotation), strict=False))
    return {name: _filled(hints.get(name, Any), given) for name in names}


def _filled(hint: Any, given: dict[Any, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return given.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if not given or not parameters or isinstance(hint, type):
        return hint
    return hint[tuple(given.get(parameter, parameter) for parameter in parameters)]


def is_closed(annotation: Any) -> tuple[bool, bool]:
    """Whether it is closed, and whether there are sets in it (to be sorted before they are encoded)."""
    survey = _Survey()
    closed = survey.closed(annotation)
    # msgspec sorts sets only together with dicts, whose order is theirs to keep: both in one value are tagged
    return closed and not (survey.sets and survey.mappings), survey.sets


@dataclass(slots=True)
class _Survey:
    sets: bool = False
    mappings: bool = False
    classes: set[Any] = field(default_factory=set)

    def closed(self, annotation: Any) -> bool:
        annotation = bare(annotation)
        if annotation in LEAVES or get_origin(annotation) is Literal:
            return True
        if union := members(annotation):
            return len(union) == 2 and NoneType in union and all(map(self.closed, union))
        cls = get_origin(annotation) or annotation
        self.sets |= cls in SETS
        self.mappings |= cls in MAPPINGS or typing.is_typeddict(cls)
        if cls is tuple or cls in SETS or cls in MAPPINGS or cls in SEQUENCES:
            held = [part for part in get_args(annotation) if part is not Ellipsis]
            return bool(held) and all(map(self.closed, held))
        if has_fields(annotation):
            return self._closed_fields(annotation)
        return isinstance(cls, type) and issubclass(cls, Enum)

    def _closed_fields(self, annotation: Any) -> bool:
        if annotation in self.classes:
            return True
        self.classes.add(annotation)
        return all(map(self.closed, fields_of(annotation).values()))
