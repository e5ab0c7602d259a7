"""A block: a named scope whose failures are data (F5). It has no entry of its own; what happens inside has."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from durable.api.outcomes import Failure, Success, as_failure
from durable.engine.scope import CodeScope
from durable.errors import Kind, RollbackError, StepFailed
from durable.usercode.failures import described, leaves

X = TypeVar("X", bound=CodeScope)


def block(scope: X, name: str, run: Callable[[Any], Any], catch: Collection[Kind]) -> Success[Any] | Failure:
    """Return what the block returned, or the terminal failure inside it; an error of the block's own code is raised.

    A RollbackError of the block's own is caught where `catch` has `rollback`. Nothing is undone by catching (F6).
    """
    scope.enter()
    path, _ = scope.name(name)
    try:
        return Success(scope.within(path, run))
    except BaseException as error:
        failure = _caught(error, path, catch)
        if failure is None:
            raise
        return failure


def _caught(error: BaseException, path: str, catch: Collection[Kind]) -> Failure | None:
    """Return the failure that an error stands for, if that is caught; of a group every member must be."""
    found = [_failure(each, path) for each in leaves(error)]
    known = [failure for failure in found if failure is not None and failure.kind in catch]
    return known[0] if len(known) == len(found) else None


def _failure(error: BaseException, path: str) -> Failure | None:
    match error:
        case StepFailed():
            return as_failure(error)
        case RollbackError():
            return Failure("rollback", "block", path, 0, described(error))
        case _:
            return None
