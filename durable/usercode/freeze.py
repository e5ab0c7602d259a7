"""Late binding disarmed: a rollback keeps the variables that it saw when its step was called (D13).

Rollbacks run after the loop that named them has moved on; without this, each would see the last item.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import WRAPPER_ASSIGNMENTS
from opcode import EXTENDED_ARG, opmap
from types import CellType, CodeType, FunctionType
from typing import Any

_WRITES = frozenset({opmap["STORE_DEREF"], opmap["DELETE_DEREF"]})


def freeze(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with cells of its own; the outer variables that it assigns are meant to be shared, and stay so."""
    if not isinstance(function, FunctionType) or not function.__closure__:
        return function
    shared = _assigned(function.__code__)
    frozen = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(
            cell if name in shared else _copied(cell)
            for name, cell in zip(function.__code__.co_freevars, function.__closure__, strict=True)
        ),
    )
    frozen.__kwdefaults__ = function.__kwdefaults__
    for name in WRAPPER_ASSIGNMENTS:  # its name and text; its annotations, as this Python keeps them
        setattr(frozen, name, getattr(function, name))
    return frozen


def _copied(cell: CellType) -> CellType:
    try:
        return CellType(cell.cell_contents)
    except ValueError:  # not assigned yet: it stays live
        return cell


def _assigned(code: CodeType) -> set[str]:
    """The outer variables that it, or a function within it, assigns."""
    outer = code.co_freevars
    inner = {name for constant in code.co_consts if isinstance(constant, CodeType) for name in _assigned(constant)}
    own = len({*code.co_varnames, *code.co_cellvars})  # variables are numbered: first its own, then the outer ones
    found = {outer[number - own] for number in _written(code) if number >= own}
    return found | inner.intersection(outer)


def _written(code: CodeType) -> set[int]:
    """The numbers of the variables in cells that it assigns."""
    numbers, prefix = set(), 0
    for operation, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        number = prefix << 8 | argument
        prefix = number if operation == EXTENDED_ARG else 0
        if operation in _WRITES:
            numbers.add(number)
    return numbers
