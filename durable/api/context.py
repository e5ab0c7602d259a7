"""The context: what a workflow function can say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine
from datetime import datetime
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, cast, overload
from uuid import UUID

from durable.api.calls import (
    STATELESS,
    LoopCall,
    Operations,
    StepCall,
    StepOptions,
    checked_loop,
    step_call,
    wait_call,
)
from durable.api.generics import Scoped
from durable.api.log import ExecutionLog
from durable.api.outcomes import DEFAULT_CATCH, Break, Continue, Failure, Success, as_failure, checked_catch
from durable.api.queue import ContextQueue
from durable.api.retry import Retry
from durable.api.step import OnlyInSteps
from durable.errors import InvalidCall, Kind, StepFailed
from durable.usercode.durations import Duration, milliseconds, milliseconds_of, moment_of
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

    def now(self) -> datetime:
        """Return the time of the last recorded operation: the same on every replay."""
        return moment_of(self._scope.clock())

    def uuid(self) -> UUID:
        """Return an id that is the same on every replay."""
        return UUID(bytes=self._scope.seed("uuid")[:16], version=4)

    def random(self) -> Random:
        """Return a random number generator that gives the same numbers on every replay."""
        return Random(self._scope.seed("random"))

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
            return step_call(path, name, run, args, rollback=rollback, returns=returns, **options)

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
        """As `step`, and a failure of a kind in `catch` is returned instead of raised.

        `catch` replaces the default list: critical, timeout, exhausted. Nothing is undone by catching.
        """
        caught = checked_catch(catch)
        try:
            return Success(self.step(name, run, *args, **options))
        except StepFailed as error:
            if error.kind not in caught:
                raise
            return as_failure(error)

    def try_block(
        self,
        name: str,
        block: Callable[[Context[S], *Ts], T],
        *args: *Ts,
        catch: Collection[Kind] = DEFAULT_CATCH,
    ) -> Success[T] | Failure:
        """Run `block(ctx, *args)` in a scope of its own; a terminal failure of a step inside is returned.

        `catch` replaces the default list: critical, timeout, exhausted. A plain exception of the block's own code is
        raised: it is a bug. Nothing is undone by catching.
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
        """Run `body(ctx)`, or `body(ctx, state)`, until it returns Break; its value is returned.

        Each iteration is a scope of its own. Past ones are forgotten every `prune_every` iterations and at the end,
        except the last `keep`, so that a loop may run for ever; those whose rollbacks a failure would run are kept
        until a `rollback_checkpoint` passes them.
        """
        checked_loop(name, body, prune_every, keep)
        call = LoopCall(name, state, partial(state_type, body), partial(break_type, body), prune_every, keep)
        return self._scope.loop(call, lambda scope, *given: body(self._inside(scope), *given))

    def rollback_checkpoint(self, name: str) -> None:
        """Draw a boundary: what started before it is committed: no later failure rolls it back."""
        self._scope.rollback_checkpoint(name)

    def version(self, name: str, latest: int) -> int:
        """Return which version of a changed part this execution takes: `latest`, or 1 if it was under way before the gate."""
        return self._scope.version(name, latest)

    def removed(self, name: str, kind: str) -> None:
        """Stand in for a deleted operation, so that executions which recorded it go on."""
        self._scope.removed(name, kind)

    def _inside(self, scope: Operations) -> Context[S]:
        return Context(scope, self._log)

    def sleep(self, name: str, duration: Duration) -> None:
        """Wait durably: seconds or a timedelta, up to years; the deadline is fixed at the first call."""
        self._scope.sleep(name, milliseconds(duration, f"sleep '{name}': the duration"))

    def sleep_until(self, name: str, moment: datetime) -> None:
        """Wait durably until a moment, which must be aware of its time zone; a past one returns at once."""
        self._scope.sleep_until(name, milliseconds_of(moment, f"sleep_until '{name}'"))

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
        call = wait_call(name, check, args, every, timeout, retry=retry, check_timeout=check_timeout)
        return cast("T", self._scope.wait_for(call))

    if not TYPE_CHECKING:
        state = OnlyInSteps()
        vars = OnlyInSteps()
        db = OnlyInSteps()
        client = OnlyInSteps()
        publish = OnlyInSteps()
        transact = OnlyInSteps()
        remaining = OnlyInSteps()
