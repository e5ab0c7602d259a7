"""A block: a named scope whose failures are data (F5). It has no entry of its own; what happens inside has."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar, cast

from durable.api.outcomes import Failure, Success, as_failure
from durable.engine.scope import CodeScope
from durable.errors import Kind, RollbackError, StepFailed
from durable.usercode.failures import described, kind_of, original

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
    """Return the failure that an error stands for, if that is caught; a group is one if it holds nothing else."""
    standing = original(error)
    cls = type(standing)  # never isinstance: it would ask the error for its class
    if issubclass(cls, StepFailed) and kind_of(standing) in catch:
        return as_failure(cast("StepFailed", standing))
    if issubclass(cls, RollbackError) and "rollback" in catch:
        return Failure("rollback", "block", path, 0, described(standing))
    return None
