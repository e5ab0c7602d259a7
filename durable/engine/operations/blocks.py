"""A block: a named scope whose failures are data (F5). It has no entry of its own; what happens inside has."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from durable.api.outcomes import Failure, Success, as_failure
from durable.engine.replay import Replay, Scope
from durable.errors import InvalidCall, Kind, RollbackError, StepFailed
from durable.usercode.failures import described

DEFAULT_CATCH: tuple[Kind, ...] = ("critical", "timeout", "exhausted")
KINDS = frozenset({"critical", "timeout", "exhausted", "rollback"})


def try_block(
    replay: Replay, scope: Scope, name: str, run: Callable[[Scope], Any], catch: Collection[Kind]
) -> Success[Any] | Failure:
    """What the block returned, or the terminal failure inside it; an error of the block's own code is raised (F5).

    Nothing is undone by catching (F6). A RollbackError of the block's own is caught where `catch` has `rollback`.
    """
    replay.enter(scope)
    path = scope.name(name)
    caught = checked_catch(catch)
    try:
        with scope.within(path) as inner:
            return Success(run(inner))
    except StepFailed as error:
        if error.kind not in caught:
            raise
        return as_failure(error)
    except RollbackError as error:
        if "rollback" not in caught:
            raise
        return Failure("rollback", "block", path, 0, described(error))


def checked_catch(catch: Collection[Kind]) -> Collection[Kind]:
    """The kinds that are caught; raises InvalidCall for one that does not exist."""
    if catch is None or isinstance(catch, str) or not set(catch) <= KINDS:
        raise InvalidCall(f"catch={catch!r}: the kinds are {', '.join(sorted(KINDS))}; write catch=['exhausted']")
    return catch
