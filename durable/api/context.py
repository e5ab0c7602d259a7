"""The context: what a workflow function can say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, NoReturn, cast, overload
from uuid import UUID

from durable.api.calls import (
    STATELESS,
    LoopCall,
    Operations,
    StepCall,
    StepOptions,
    WaitCall,
    check_retry,
    checked_loop,
    step_call,
)
from durable.api.generics import Scoped
from durable.api.log import ExecutionLog
from durable.api.outcomes import DEFAULT_CATCH, Break, Continue, Failure, Success, as_failure, checked_catch
from durable.api.queue import ContextQueue
from durable.api.retry import Retry
from durable.errors import InvalidCall, Kind, StepFailed, StepOnly
from durable.usercode.durations import Duration, milliseconds, seconds
from durable.usercode.own_result import check_own_result, user_frame
from durable.usercode.signatures import break_type, result_type, state_type

if TYPE_CHECKING:
    from logging import Logger, LoggerAdapter
    from typing import Unpack

    from typing_extensions import TypeVar, TypeVarTuple

    from durable.api.generics import S
    from durable.api.step import Step, Undo

    T = TypeVar("T")
    D = TypeVar("D", default=None)  # what a loop breaks with; one without Break never returns
    L = TypeVar("L")  # a loop's state
    Ts = TypeVarTuple("Ts")

FURTHEST = datetime(9000, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class OnlyInSteps:
    """Stands on the Context for what only a running step has (S7): reading and writing it say where it is."""

    __slots__ = ("_name",)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, context: object, owner: type) -> NoReturn:
        self._refuse()

    def __set__(self, context: object, value: object) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise StepOnly(
            f"ctx.{self._name} does not exist: {self._name} is only available inside a running step. "
            f"Use step.{self._name} in a body, and return from the step what the workflow needs."
        )


class Context(Scoped["S"]):
    """The API inside a workflow: durable operations, and now(), uuid() and random() that are the same on every replay."""

    stored_instead = "Return what the workflow needs, and not its context."
    __slots__ = ("_log", "_scope", "execution_id")

    def __init__(self, scope: Operations, log: ExecutionLog) -> None:
        self.execution_id = scope.execution_id
        self._scope = scope
        self._log = log

    @property
    def log(self) -> LoggerAdapter[Logger]:
        """A logger whose lines are written once, not once per replay."""
        return self._log

    @property
    def queue(self) -> ContextQueue:
        """The execution's queues: `ctx.queue.next`, `ctx.queue.next_batch`."""
        return ContextQueue(self._scope)

    # --- the same on every replay ----------------------------------------------------------------------------------

    def now(self) -> datetime:
        """Return the time of the last recorded operation: the same on every replay."""
        return _EPOCH + timedelta(milliseconds=self._scope.clock())

    def uuid(self) -> UUID:
        """Return an id that is the same on every replay."""
        return UUID(bytes=self._scope.seed("uuid")[:16], version=4)

    def random(self) -> Random:
        """Return a random number generator that gives the same numbers on every replay."""
        return Random(self._scope.seed("random"))

    # --- steps -----------------------------------------------------------------------------------------------------

    # The first overload is the one that type checkers report a wrong call against. pyright takes it for `async def` too;
    # mypy needs the second for those.
    @overload
    def step(
        self,
        name: str,
        run: Callable[[Step[S], *Ts], T | Awaitable[T]],
        *args: *Ts,
        rollback: Callable[[Undo[T, S], *Ts], object] | None = None,
        returns: None = None,
        **options: Unpack[StepOptions],
    ) -> T: ...
    @overload
    def step(
        self,
        name: str,
        run: Callable[[Step[S], *Ts], Coroutine[Any, Any, T]],
        *args: *Ts,
        rollback: Callable[[Undo[T, S], *Ts], object] | None = None,
        returns: None = None,
        **options: Unpack[StepOptions],
    ) -> T: ...
    @overload
    def step(
        self,
        name: str,
        run: Callable[[Step[S], *Ts], object],
        *args: *Ts,
        returns: type[T],
        rollback: Callable[[Undo[T, S], *Ts], object] | None = None,
        **options: Unpack[StepOptions],
    ) -> T: ...
    def step(
        self,
        name: str,
        run: Callable[[Step[S], *Ts], Any],
        *args: *Ts,
        rollback: Callable[[Undo[Any, S], *Ts], object] | None = None,
        returns: Any = None,
        **options: Any,
    ) -> Any:
        """Run the body once, whatever crashes, and return its recorded result.

        The body gets a Step, then the arguments; the rollback gets an Undo, then the same arguments, if the execution
        fails later. `timeout` bounds one attempt, in seconds or as a timedelta. Raises StepFailed when the retries are
        used up, the time is, or the body raised TerminalError or RollbackError; InvalidName and InvalidCall at once.
        """

        caller = None if rollback is None else user_frame()

        def make(path: str) -> StepCall:
            if rollback is not None and caller is not None:
                check_own_result(caller, rollback, f"step '{path}'")
            return step_call(
                path,
                name,
                run,
                args,
                rollback=rollback,
                returns=returns,
                **options,
            )

        return self._scope.step(name, make, args, returns if returns is not None else result_type(run))

    @overload
    def try_step(
        self,
        name: str,
        run: Callable[[Step[S], *Ts], T | Awaitable[T]],
        *args: *Ts,
        rollback: Callable[[Undo[T, S], *Ts], object] | None = None,
        catch: Collection[Kind] = ...,
        returns: None = None,
        **options: Unpack[StepOptions],
    ) -> Success[T] | Failure: ...
    @overload
    def try_step(
        self,
        name: str,
        run: Callable[[Step[S], *Ts], Coroutine[Any, Any, T]],
        *args: *Ts,
        rollback: Callable[[Undo[T, S], *Ts], object] | None = None,
        catch: Collection[Kind] = ...,
        returns: None = None,
        **options: Unpack[StepOptions],
    ) -> Success[T] | Failure: ...
    @overload
    def try_step(
        self,
        name: str,
        run: Callable[[Step[S], *Ts], object],
        *args: *Ts,
        returns: type[T],
        rollback: Callable[[Undo[T, S], *Ts], object] | None = None,
        catch: Collection[Kind] = ...,
        **options: Unpack[StepOptions],
    ) -> Success[T] | Failure: ...
    def try_step(
        self,
        name: str,
        run: Callable[[Step[S], *Ts], Any],
        *args: *Ts,
        catch: Collection[Kind] = DEFAULT_CATCH,
        **options: Any,
    ) -> Success[Any] | Failure:
        """As `step`, and a failure of a kind in `catch` is returned instead of raised (F1, F2).

        `catch` replaces the default list: critical, timeout, exhausted. Nothing is undone by catching (F6).
        """
        caught = checked_catch(catch)
        try:
            return Success(self.step(name, run, *args, **options))
        except StepFailed as error:
            if error.kind in caught:
                return as_failure(error)
            raise

    # --- blocks and loops ------------------------------------------------------------------------------------------

    def try_block(
        self,
        name: str,
        block: Callable[[Context[S], *Ts], T],
        *args: *Ts,
        catch: Collection[Kind] = DEFAULT_CATCH,
    ) -> Success[T] | Failure:
        """Run `block(ctx, *args)` in a scope of its own; a terminal failure of a step inside is returned (F5).

        `catch` replaces the default list: critical, timeout, exhausted. A plain exception of the block's own code is
        raised: it is a bug. Nothing is undone by catching (F6).
        """
        if not callable(block):
            raise InvalidCall(f"block '{name}': the function is not callable: {block!r}. Pass the function itself.")
        return self._scope.block(name, lambda scope: block(self._inside(scope), *args), checked_catch(catch))

    @overload
    def loop(
        self,
        name: str,
        body: Callable[[Context[S]], Break[D] | Continue[None] | None],
        *,
        prune_every: int = 20,
        keep: int = 0,
    ) -> D: ...
    @overload
    def loop(
        self,
        name: str,
        body: Callable[[Context[S], L], Continue[L] | Break[D]],
        *,
        state: L,
        prune_every: int = 20,
        keep: int = 0,
    ) -> D: ...
    def loop(
        self,
        name: str,
        body: Callable[..., Any],
        *,
        state: Any = STATELESS,
        prune_every: int = 20,
        keep: int = 0,
    ) -> Any:
        """Run `body(ctx)`, or `body(ctx, state)`, until it returns Break; its value is returned (L1).

        Each iteration is a scope of its own (L2). Past ones are forgotten every `prune_every` iterations and at the end,
        except the last `keep`, so that a loop may run for ever (L3); those whose rollbacks a failure would run are kept
        until a `rollback_checkpoint` passes them (R15).
        """
        checked_loop(name, body, prune_every, keep)
        call = LoopCall(name, state, partial(state_type, body), partial(break_type, body), prune_every, keep)
        return self._scope.loop(call, lambda scope, *given: body(self._inside(scope), *given))

    def rollback_checkpoint(self, name: str) -> None:
        """Draw a boundary: what started before it is settled business, and no later failure rolls it back (R14)."""
        self._scope.rollback_checkpoint(name)

    # --- changed code (D7) -----------------------------------------------------------------------------------------

    def version(self, name: str, latest: int) -> int:
        """Which version of a changed part this execution takes: `latest`, or 1 if it was under way before the gate."""
        return self._scope.version(name, latest)

    def removed(self, name: str, kind: str) -> None:
        """Stand in for a deleted operation, so that executions which recorded it go on."""
        self._scope.removed(name, kind)

    def _inside(self, scope: Operations) -> Context[S]:
        return Context(scope, self._log)

    # --- waits -----------------------------------------------------------------------------------------------------

    def sleep(self, name: str, duration: Duration) -> None:
        """Wait durably: seconds or a timedelta, up to years; the deadline is fixed at the first call (Q4)."""
        self._scope.sleep(name, milliseconds(duration, f"sleep '{name}': the duration"))

    def sleep_until(self, name: str, moment: datetime) -> None:
        """Wait durably until a moment, which must be aware of its time zone; a past one returns at once (Q4)."""
        if not isinstance(moment, datetime) or moment.tzinfo is None:
            raise InvalidCall(f"sleep_until '{name}': the moment is a datetime with a time zone, not {moment!r}")
        until = round((min(moment, FURTHEST) - _EPOCH).total_seconds() * 1000)
        self._scope.sleep_until(name, until)

    def wait_for(
        self,
        name: str,
        check: Callable[[Step[S], *Ts], T | None],
        *args: *Ts,
        every: Duration,
        timeout: Duration | None = None,
        retry: Retry | None = None,
        check_timeout: Duration | None = None,
    ) -> T:
        """Run a check as a step every so often, until it returns something; return that.

        The wait ends with a value that is not None; a check annotated `-> bool` ends it when it returns True. `timeout`
        counts from this call, in seconds or as a timedelta; the last look is at its end. `retry` and `check_timeout` are
        those of one look. Raises StepFailed of kind `timeout` when the time is over, and as `step` does when a look fails.
        """
        what = f"wait_for '{name}'"
        pause = milliseconds(every, f"{what}: every", zero=False)
        limit = None if timeout is None else milliseconds(timeout, f"{what}: timeout")
        check_retry(retry, what, "retry")
        if check_timeout is not None:
            seconds(check_timeout, f"{what}: check_timeout", zero=False)

        def make(path: str) -> StepCall:
            return step_call(path, "check", check, args, retry=retry, timeout=check_timeout)

        make(name)  # what can't be is refused at the call
        return cast(
            "T", self._scope.wait_for(WaitCall(name, make, args, result_type(check), pause, limit, str(timeout)))
        )

    # --- what exists only in a step (S7) ---------------------------------------------------------------------------

    if not TYPE_CHECKING:
        state = OnlyInSteps()
        vars = OnlyInSteps()
        db = OnlyInSteps()
        client = OnlyInSteps()
        publish = OnlyInSteps()
        transact = OnlyInSteps()
        remaining = OnlyInSteps()
