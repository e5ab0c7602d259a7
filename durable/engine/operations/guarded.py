"""Keep faults of this library out of user code."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from durable.engine.scope import CodeScope
from durable.errors import DurableError

P = ParamSpec("P")
T = TypeVar("T")
X = TypeVar("X", bound=CodeScope)


def guarded(operation: Callable[Concatenate[X, P], T]) -> Callable[Concatenate[X, P], T]:
    """Wrap an operation that calls no user code: errors meant for the code pass, any other breaks the branch off."""

    @wraps(operation)
    def call(scope: X, /, *args: P.args, **named: P.kwargs) -> T:
        try:
            return operation(scope, *args, **named)
        except DurableError:
            raise
        except Exception as fault:
            scope.branch.break_off(fault)

    return call
