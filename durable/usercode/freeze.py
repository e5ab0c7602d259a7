"""Let a rollback see its variables as they were when its step was called (D13).

Rollbacks run after the loop that named them has moved on; without this, each would see the last item. What each saw is
kept, and put back into the variables while it runs: so every function that it reaches sees the same, however it is
wrapped. Copies of the functions were the alternative: they miss methods, classes and whatever else holds a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import CellType, CoroutineType
from typing import Any
from weakref import WeakValueDictionary

from durable.usercode.arguments import bound
from durable.usercode.reachable import contents, functions

_UNSET = object()


class _Variable:
    """A variable of the workflow's code; the one object for its cell, as long as a frozen rollback needs it."""

    __slots__ = ("__weakref__", "assigned", "cell")

    def __init__(self, cell: CellType) -> None:
        self.cell = cell
        self.assigned = False  # by a rollback: such a variable is meant to be shared, and is left as it is

    @property
    def value(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return _UNSET

    @value.setter
    def value(self, value: Any) -> None:
        if value is _UNSET:
            del self.cell.cell_contents
        else:
            self.cell.cell_contents = value


_variables: WeakValueDictionary[int, _Variable] = WeakValueDictionary()  # by the id of their cells


def freeze(rollback: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with the variables that it and all that it reaches see now; itself if there are none.

    A variable without a value now is seen as it is when the rollback runs. What a rollback assigns (`nonlocal`) is seen
    by those that run after it.
    """
    seen = {id(cell): (_variable(cell), value) for each in functions(rollback) for _, cell, value in contents(each)}
    if not seen:
        return rollback
    variables = list(seen.values())

    @wraps(rollback)
    def frozen(*arguments: Any) -> Any:
        with _as_seen(variables):
            result = bound(rollback)(*arguments)  # another attempt may have changed what it brings along
        return _awaited(variables, result) if type(result) is CoroutineType else result

    return frozen


def _variable(cell: CellType) -> _Variable:
    found = _variables.get(id(cell))
    if found is None:
        found = _variables[id(cell)] = _Variable(cell)
    return found


async def _awaited(variables: list[tuple[_Variable, Any]], coroutine: CoroutineType[Any, Any, Any]) -> Any:
    with _as_seen(variables):
        return await coroutine


@contextmanager
def _as_seen(variables: list[tuple[_Variable, Any]]) -> Iterator[None]:
    """Give the variables the values that were seen; afterwards what they had, or what was assigned meanwhile."""
    changed = [(variable, seen, variable.value) for variable, seen in variables if not variable.assigned]
    for variable, seen, _ in changed:
        variable.value = seen
    try:
        yield
    finally:
        for variable, seen, before in changed:
            if variable.value is seen:
                variable.value = before
            else:
                variable.assigned = True
