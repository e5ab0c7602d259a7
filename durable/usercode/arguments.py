"""The arguments of a step as they were at its call, for every attempt and every rollback (S16).

What the codec can store is copied, part by part and by no method of the user's; anything else is passed as it is: a
client, a lock, an object of a plain class. A copy by way of the codec's bytes was the alternative: it takes ten times
as long, and a dict with one client in it would not be copied at all.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy as shallow
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from itertools import islice
from types import MethodType, NoneType
from typing import Any
from uuid import UUID

from msgspec.structs import force_setattr

from durable.codec.display import module_of
from durable.codec.refusal import DEPTH
from durable.codec.tagged import models, records
from durable.codec.tagged.classes import Kind, kind_of
from durable.errors import InvalidCall, is_failure

MOST_ITEMS = 100_000  # of an iterator
_SCALARS: frozenset[Any] = frozenset(
    {NoneType, bool, int, float, complex, str, bytes, Decimal, UUID, datetime, date, time, timedelta, range, frozenset}
)


def copied(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arguments for one more use: what one use does to its own reaches no other.

    What is one object in the call is one in each copy. An iterator is read to its end, and each copy gives all its items;
    raises InvalidCall for one without end, and what the iterator raises.
    """
    if all(
        type(each) is str or type(each) is int for each in arguments
    ):  # most are; and no class is asked for its hash
        return tuple(arguments)
    copy = _Copy()
    return tuple(copy.iterator(each) if _is_iterator(type(each)) else copy.of(each) for each in arguments)


def bound(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with copies of what it brings along: the arguments of a partial, the object of a method."""
    if type(function) is partial:
        return partial(bound(function.func), *copied(function.args), **_named(function.keywords))
    if type(function) is MethodType:
        return MethodType(bound(function.__func__), *copied([function.__self__]))
    return function


def _named(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return dict(zip(arguments, copied(list(arguments.values())), strict=True))


def exhaust(arguments: Sequence[Any]) -> None:
    """Read the iterators among the arguments to their end, as the recorded call did: later code finds them so."""
    for argument in arguments:
        if _is_iterator(type(argument)):
            _items(argument)


class _Items(Iterator[Any]):
    """An iterator over what was read from another, which can be copied."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self._rest = iter(items)

    def __next__(self) -> Any:
        return next(self._rest)


class _Uncopied(Exception):
    """A part can't be copied, and so the whole is passed as it is."""


class _Copy:
    """One copy of a call's arguments."""

    __slots__ = ("_depth", "_in_object", "_known")

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}  # originals are kept with their copies, so that no id comes again
        self._depth = 0
        self._in_object = False  # all of which is copied, or nothing

    def of(self, value: Any) -> Any:
        """Return a copy of an argument, or itself where there can be none."""
        known = len(self._known)
        try:
            return self.part(value)
        except BaseException as error:  # too deep, or an object that misbehaves
            if not is_failure(error):
                raise
            self._forget(known)
            return value

    def iterator(self, value: Any) -> Any:
        """Return an iterator over copies of the items."""
        if id(value) not in self._known:
            self.keep(value, _Items([self.of(item) for item in _items(value)]))
        return self._known[id(value)][1]

    def part(self, value: Any) -> Any:
        """Return a copy of a part of an argument, which may be itself."""
        cls = type(value)
        if cls in _SCALARS:
            return value
        if id(value) in self._known:
            return self._known[id(value)][1]
        if self._depth > DEPTH:
            raise _Uncopied
        self._depth += 1
        try:
            return _COPIES.get(cls, _Copy.of_object)(self, value)
        finally:
            self._depth -= 1

    def keep(self, value: Any, copy: Any) -> Any:
        """Take note of the copy of a value: what refers to it again, or to itself, gets the same."""
        self._known[id(value)] = value, copy
        return copy

    def of_object(self, value: Any) -> Any:
        """Return a copy of an object of the user's, or itself where the codec could not store it."""
        if self._in_object:
            return self._new(value)
        known, depth = len(self._known), self._depth
        self._in_object = True
        try:
            return self._new(value)
        except BaseException as error:
            if not is_failure(error):
                raise
            self._depth = depth
            self._forget(known)
            return value
        finally:
            self._in_object = False

    def _forget(self, known: int) -> None:
        """Forget the copies that were made since: they may refer to one that is not whole."""
        while len(self._known) > known:
            self._known.popitem()

    def _new(self, value: Any) -> Any:
        cls: Any = type(value)
        match kind_of(cls):
            case Kind.ENUM:
                return value
            case Kind.NAMED_TUPLE:
                return tuple.__new__(cls, [self.part(item) for item in tuple.__iter__(value)])
            case Kind.STRUCT:
                return self._struct(cls, value)
            case Kind.PYDANTIC:
                return self.keep(value, models.build(cls, self._parts(models.parts(value))))
            case Kind.DATACLASS:
                return self._dataclass(cls, value)
            case None:
                raise _Uncopied

    def _struct(self, cls: Any, value: Any) -> Any:
        copy = self.keep(value, shallow(value))
        for name in cls.__struct_fields__:
            force_setattr(copy, name, self.part(getattr(value, name)))
        return copy

    def _dataclass(self, cls: Any, value: Any) -> Any:
        parts = records.parts(value)
        copy = self.keep(value, object.__new__(cls))
        for name, held in parts["value"].items():
            object.__setattr__(copy, name, self.part(held))  # frozen classes refuse the plain assignment
        if "more" in parts:
            copy.__dict__.update({name: self.part(held) for name, held in parts["more"].items()})
        return copy

    def _parts(self, parts: records.Parts) -> records.Parts:
        copies = {
            part: {name: self.part(value) for name, value in held.items()}
            for part, held in parts.items()
            if part != "set"
        }
        return copies | {"set": parts["set"]} if "set" in parts else copies

    def of_list(self, value: list[Any]) -> Any:
        """Return a copy of a list."""
        copy: list[Any] = self.keep(value, [])
        copy.extend(self.part(item) for item in value)
        return copy

    def of_tuple(self, value: tuple[Any, ...]) -> Any:
        """Return a tuple of copies, or itself where they are the same."""
        copies = [self.part(item) for item in value]
        unchanged = all(copy is item for copy, item in zip(copies, value, strict=True))
        return value if unchanged else self.keep(value, tuple(copies))

    def of_mapping(self, value: Any) -> Any:
        """Return a copy of a dict, of the same kind; the keys are as good as constant."""
        copy = self.keep(value, type(value).copy(value))
        for key, held in dict.items(value):
            copy[key] = self.part(held)
        return copy

    def of_deque(self, value: deque[Any]) -> Any:
        """Return a copy of a deque."""
        copy: deque[Any] = self.keep(value, deque(maxlen=value.maxlen))
        copy.extend(self.part(item) for item in value)
        return copy


def _is_iterator(cls: type) -> bool:
    """Of Python's own, whose only use is to be read: not a file, a cursor, or another object that is one besides."""
    return cls is _Items or (module_of(cls) in ("builtins", "itertools") and hasattr(cls, "__next__"))


def _items(iterator: Iterator[Any]) -> list[Any]:
    if type(iterator) is _Items:
        return iterator.items
    items = list(islice(iterator, MOST_ITEMS + 1))
    if len(items) > MOST_ITEMS:
        raise InvalidCall(
            f"an argument is an iterator ({type(iterator).__name__}) that has more than {MOST_ITEMS:,} items, or no end. Pass a "
            "list of what is needed, or make the iterator in the body."
        )
    return items


_COPIES: dict[Any, Callable[[_Copy, Any], Any]] = {
    list: _Copy.of_list,
    tuple: _Copy.of_tuple,
    **dict.fromkeys((dict, OrderedDict, defaultdict, Counter), _Copy.of_mapping),
    set: lambda copy, value: copy.keep(value, set(value)),
    bytearray: lambda copy, value: copy.keep(value, bytearray(value)),
    deque: _Copy.of_deque,
    type({}.keys()): lambda copy, value: dict.fromkeys(value).keys(),
    type({}.values()): lambda copy, value: {at: copy.part(item) for at, item in enumerate(value)}.values(),
    type({}.items()): lambda copy, value: {key: copy.part(item) for key, item in value}.items(),
}
