"""The functions that a callable may run: behind decorators, partials, methods, local functions and local classes.

What is looked at is what Python itself would run, found without calling anything: no property, no `__getattr__`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import cached_property, partial, partialmethod
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from durable.codec.display import module_of

MOST_ITEMS = 1_000  # of a container that is looked into: functions are kept in tables, and data is not looked for
_DESCRIPTORS = (staticmethod, classmethod, property, cached_property, partialmethod)
_CONTAINERS = (list, tuple, set, frozenset, dict)
_qualname = type.__dict__["__qualname__"].__get__  # not asked of the class: its metaclass may answer anything


def functions(root: Callable[..., Any]) -> Iterator[FunctionType]:
    """Yield the functions that the callable may run, as far as they can be found from it."""
    seen = {id(root)}
    waiting: list[Any] = [root]
    while waiting:
        found = waiting.pop()
        if type(found) is FunctionType:
            yield found
        for each in _parts(found):
            if id(each) not in seen:
                seen.add(id(each))
                waiting.append(each)


def contents(function: FunctionType) -> Iterator[tuple[str, CellType, Any]]:
    """Yield the function's outer variables that have a value: name, cell and value."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell, cell.cell_contents
        except ValueError:  # not assigned yet
            continue


def _parts(found: Any) -> list[Any]:
    cls = type(found)
    if cls is FunctionType:
        held = [value for _, _, value in contents(found)]
        return [*held, *(found.__defaults__ or ()), *(found.__kwdefaults__ or {}).values()]
    if cls is MethodType:
        return [found.__func__, found.__self__]
    if issubclass(cls, partial):
        return [found.func, *found.args, *found.keywords.values()]
    if cls in _CONTAINERS:
        return _items(found)
    if issubclass(cls, type):
        return [*vars(found).values(), *found.__bases__] if _is_local(found) else []
    if issubclass(cls, ModuleType) or module_of(cls).startswith("durable."):
        return []
    return _attributes(found)


def _items(found: Any) -> list[Any]:
    items = list(dict.values(found) if type(found) is dict else found) if len(found) <= MOST_ITEMS else []
    return [item for item in items if _may_run(item)]


def _attributes(found: Any) -> list[Any]:
    """What an object holds that may be run, and its class if that is a local one."""
    held = gc.get_referents(found)
    inside = [item for part in held if type(part) is dict for item in _items(part)]
    return [part for part in [*held, *inside] if type(part) is not dict and _may_run(part)]


def _may_run(item: Any) -> bool:
    cls = type(item)
    return (
        cls in (FunctionType, MethodType, *_CONTAINERS)
        or issubclass(cls, (partial, *_DESCRIPTORS))
        or (issubclass(cls, type) and _is_local(item))
        or _is_local(cls)
        or (callable(item) and not issubclass(cls, type))
    )


def _is_local(cls: Any) -> bool:
    return "<locals>" in _qualname(cls)
