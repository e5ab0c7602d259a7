"""What workflow code asks for, as data: checked, and not yet looked up in any history."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, Unpack

from msgspec import Struct

from durable.api.retry import AT_MOST_ONCE_RETRY, ROLLBACK_RETRY, STEP_RETRY, Retry
from durable.errors import InvalidCall, Kind
from durable.usercode.durations import Duration, milliseconds, seconds
from durable.usercode.signatures import checked_type, name_of, result_type

if TYPE_CHECKING:
    from durable.api.messages import Message
    from durable.api.outcomes import Failure, Success

Semantics = Literal["at_least_once", "at_most_once"]
Drift = Literal["off", "warn", "error"]
_PASS_IT = "Pass the function, not the result of calling it."


class StepOptions(TypedDict, total=False):
    """How a step is run: what `ctx.step` and `ctx.try_step` take by keyword, beside rollback, returns and catch."""

    retry: Retry | None
    timeout: Duration | None
    rollback_retry: Retry | None
    rollback_timeout: Duration | None
    semantics: Semantics
    sensitive: bool


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
    context: Context  # the context variables of the code that calls it

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
    rollback: Callable[..., Any] | None = None,
    returns: Any = None,
    **options: Unpack[StepOptions],
) -> StepCall:
    """A checked call; raises InvalidCall that names the step."""
    here = f"step '{path}'"
    if options and (unknown := sorted(options.keys() - StepOptions.__annotations__.keys())):
        raise _unknown(here, body, unknown)
    retry, rollback_retry = options.get("retry"), options.get("rollback_retry")
    timeout, rollback_timeout = options.get("timeout"), options.get("rollback_timeout")
    semantics = options.get("semantics", "at_least_once")
    if not callable(body):
        raise InvalidCall(f"{here}: the body is not callable: {body!r}. {_PASS_IT}")
    if rollback is not None and not callable(rollback):
        raise InvalidCall(f"{here}: rollback is not callable: {rollback!r}. {_PASS_IT}")
    check_retry(retry, here, "retry")
    check_retry(rollback_retry, here, "rollback_retry")
    if semantics not in ("at_least_once", "at_most_once"):
        raise InvalidCall(f"{here}: semantics is 'at_least_once' or 'at_most_once', not {semantics!r}")
    at_most_once = semantics == "at_most_once"
    return StepCall(
        path=path,
        name=name,
        body=body,
        arguments=arguments,
        rollback=rollback,
        retry=(AT_MOST_ONCE_RETRY if at_most_once else STEP_RETRY) if retry is None else retry,
        timeout=None if timeout is None else seconds(timeout, f"{here}: timeout", zero=False),
        rollback_retry=ROLLBACK_RETRY if rollback_retry is None else rollback_retry.over(ROLLBACK_RETRY),
        rollback_timeout=None
        if rollback_timeout is None
        else seconds(rollback_timeout, f"{here}: rollback_timeout", zero=False),
        at_most_once=at_most_once,
        sensitive=options.get("sensitive", False),
        returns=checked_type(returns, f"{here}: returns"),
        context=copy_context(),
    )


def wait_call(
    name: str,
    check: Callable[..., Any],
    arguments: Sequence[Any],
    every: Duration,
    timeout: Duration | None,
    *,
    retry: Retry | None,
    check_timeout: Duration | None,
) -> WaitCall:
    """A checked wait for a condition; raises InvalidCall that names it."""
    what = f"wait_for '{name}'"
    pause = milliseconds(every, f"{what}: every", zero=False)
    limit = None if timeout is None else milliseconds(timeout, f"{what}: timeout")
    check_retry(retry, what, "retry")
    if check_timeout is not None:
        seconds(check_timeout, f"{what}: check_timeout", zero=False)

    def make(path: str) -> StepCall:
        return step_call(path, "check", check, arguments, retry=retry, timeout=check_timeout)

    make(name)  # what can't be is refused at the call
    return WaitCall(name, make, arguments, result_type(check), pause, limit, str(timeout))


def _unknown(here: str, body: Callable[..., Any], names: list[str]) -> InvalidCall:
    bound = ", ".join(f"{name}=..." for name in names)
    return InvalidCall(
        f"{here} has no option {' or '.join(map(repr, names))}: what is given by keyword is for the step, and never reaches its "
        f"body. Pass the body's arguments by position, or bind them: functools.partial({name_of(body)}, {bound}). The options "
        f"are rollback, returns, {', '.join(StepOptions.__annotations__)}."
    )


def check_retry(given: object, what: str, option: str) -> None:
    """Refuse what is no Retry; raises InvalidCall."""
    if given is not None and not isinstance(given, Retry):
        raise InvalidCall(f"{what}: {option} is a Retry, not {given!r}: write {option}=Retry(3), for example")


class LoopCall(Struct, frozen=True):
    """A loop as the code asks for it."""

    name: str
    state: Any  # STATELESS for a loop without
    state_type: Callable[[], Any]  # of the state, and …
    result_type: Callable[[], Any]  # … of what it breaks with: asked for only where a value is written or read
    prune_every: int = 20
    keep: int = 0

    @property
    def stateless(self) -> bool:
        """Whether the loop has no state."""
        return self.state is STATELESS


class WaitCall(Struct, frozen=True):
    """A condition that is waited for, as the code asks for it; durations are in milliseconds."""

    name: str
    make: Callable[[str], StepCall]  # one look, by its path
    arguments: Sequence[Any]
    annotation: Any  # of what the check returns
    every: int
    timeout: int | None
    limit: str  # the timeout as it was given, for the message

    def is_met(self, found: object) -> bool:
        """Return whether what a look returned ends the wait."""
        return found is True if self.annotation is bool else found is not None


class ReceiveCall(Struct, frozen=True):
    """A wait for messages as the code asks for it. `queues` None: any queue; `timeout` in milliseconds, None: for ever."""

    name: str
    queues: Sequence[str] | None
    body: Any
    count: int
    timeout: int | None
    completable: bool


STATELESS: Any = object()


def checked_loop(name: str, body: object, prune_every: int, keep: int) -> None:
    """Refuse a loop that can't be; raises InvalidCall."""
    if not callable(body):
        raise InvalidCall(f"loop '{name}': the body is not callable: {body!r}. Pass the function itself.")
    if not isinstance(prune_every, int) or prune_every < 1:
        raise InvalidCall(f"loop '{name}': prune_every is a whole number from 1, not {prune_every!r}")
    if not isinstance(keep, int) or keep < 0:
        raise InvalidCall(f"loop '{name}': keep is a whole number from 0, not {keep!r}")


class Operations(Protocol):
    """One scope of a replay: what a context asks of it. Each call returns what is recorded, or waits until it is."""

    @property
    def execution_id(self) -> str:
        """The execution's id."""

    def clock(self) -> int:
        """Return the time of the last thing that was recorded, in milliseconds since the epoch."""

    def seed(self, use: str) -> bytes:
        """Return bytes that are the same on every replay: others for each use and place."""

    def step(self, name: str, make: Callable[[str], StepCall], arguments: Sequence[Any], annotation: Any) -> Any:
        """Return the result of a step; `make` makes the call by its path, where it is needed. Raises StepFailed."""

    def sleep(self, name: str, length: int) -> None:
        """Return when a sleep of so many milliseconds is over."""

    def sleep_until(self, name: str, moment: int) -> None:
        """Return when this moment has come, in milliseconds since the epoch."""

    def receive(self, call: ReceiveCall) -> list[Message[Any]]:
        """Return messages, at least one; none when the timeout came first."""

    def block(self, name: str, run: Callable[[Operations], Any], catch: Collection[Kind]) -> Success[Any] | Failure:
        """Return what the block returned, or the terminal failure inside it."""

    def loop(self, call: LoopCall, run: Callable[..., Any]) -> Any:
        """Return what the loop breaks with; `run` takes the scope of an iteration, and the state if there is one."""

    def wait_for(self, call: WaitCall) -> Any:
        """Return what a look found that ended the wait; raises StepFailed of kind `timeout` when its time is over."""

    def rollback_checkpoint(self, name: str) -> None:
        """Draw a boundary for rollbacks."""

    def version(self, name: str, latest: int) -> int:
        """Return the version that this execution takes of a changed part."""

    def removed(self, name: str, kind: str) -> None:
        """Stand in for a deleted operation."""
