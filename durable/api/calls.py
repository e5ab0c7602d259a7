"""A call of a step as data: what the engine hands to the runtime, which runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct

from durable.api.retry import AT_MOST_ONCE_RETRY, ROLLBACK_RETRY, STEP_RETRY, Retry
from durable.errors import InvalidCall
from durable.usercode.durations import Duration, seconds
from durable.usercode.signatures import checked_type, result_type

Semantics = Literal["at_least_once", "at_most_once"]
_PASS_IT = "Pass the function, not the result of calling it."


class StepCall(Struct, frozen=True):
    """One step as the code asks for it; durations are in seconds."""

    path: str
    name: str
    body: Callable[..., Any]
    arguments: Sequence[Any]
    rollback: Callable[..., Any] | None
    retry: Retry
    timeout: float | None
    rollback_retry: Retry
    rollback_timeout: float | None
    at_most_once: bool
    sensitive: bool
    returns: Any

    @property
    def annotation(self) -> Any:
        """The type of the result: what `returns=` asserts, or what the body's annotation says."""
        return self.returns if self.returns is not None else result_type(self.body)


def step_call(
    path: str,
    name: str,
    body: Callable[..., Any],
    arguments: Sequence[Any],
    *,
    rollback: Callable[..., Any] | None,
    retry: Retry | None,
    timeout: Duration | None,
    rollback_retry: Retry | None,
    rollback_timeout: Duration | None,
    semantics: Semantics,
    sensitive: bool,
    returns: Any,
) -> StepCall:
    """A checked call; raises InvalidCall that names the step."""
    here = f"step '{path}'"
    if not callable(body):
        raise InvalidCall(f"{here}: the body is not callable: {body!r}. {_PASS_IT}")
    if rollback is not None and not callable(rollback):
        raise InvalidCall(f"{here}: rollback is not callable: {rollback!r}. {_PASS_IT}")
    for option, given in (("retry", retry), ("rollback_retry", rollback_retry)):
        if given is not None and not isinstance(given, Retry):
            raise InvalidCall(f"{here}: {option} is a Retry, not {given!r}: write {option}=Retry(3), for example")
    if semantics not in ("at_least_once", "at_most_once"):
        raise InvalidCall(f"{here}: semantics is 'at_least_once' or 'at_most_once', not {semantics!r}")
    at_most_once = semantics == "at_most_once"
    return StepCall(
        path=path,
        name=name,
        body=body,
        arguments=arguments,
        rollback=rollback,
        retry=retry or (AT_MOST_ONCE_RETRY if at_most_once else STEP_RETRY),
        timeout=None if timeout is None else seconds(timeout, f"{here}: timeout", zero=False),
        rollback_retry=rollback_retry or ROLLBACK_RETRY,
        rollback_timeout=None
        if rollback_timeout is None
        else seconds(rollback_timeout, f"{here}: rollback_timeout", zero=False),
        at_most_once=at_most_once,
        sensitive=sensitive,
        returns=checked_type(returns, f"{here}: returns"),
    )
