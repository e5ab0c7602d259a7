"""Late binding disarmed: a rollback keeps the variables that it saw when its step was called (D13).

Rollbacks run after the loop that named them has moved on; without this, each would see the last item.
"""

from __future__ import annotations

from collections.abc import Callable
from opcode import opmap
from types import CellType, CodeType, FunctionType
from typing import Any

_WRITES = frozenset({opmap["STORE_DEREF"], opmap["DELETE_DEREF"]})


def freeze(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with cells of its own; one that assigns outer variables means to share them and is left alone."""
    if not isinstance(function, FunctionType) or not function.__closure__ or _assigns_outer(function.__code__):
        return function
    frozen = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(_copied(cell) for cell in function.__closure__),
    )
    frozen.__kwdefaults__ = function.__kwdefaults__
    frozen.__annotations__ = function.__annotations__
    frozen.__qualname__ = function.__qualname__
    return frozen


def _copied(cell: CellType) -> CellType:
    try:
        return CellType(cell.cell_contents)
    except ValueError:  # not assigned yet: it stays live
        return cell


def _assigns_outer(code: CodeType) -> bool:
    return any(operation in _WRITES for operation in code.co_code[::2])
