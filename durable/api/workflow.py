"""The workflow decorator: a plain function, named, versioned, ready to be started."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cached_property
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

from durable.api.actions import Action, ActionFunction
from durable.api.calls import Drift
from durable.api.context import Context
from durable.api.generics import Typed
from durable.codec.display import shown_value
from durable.errors import InvalidCall, InvalidName
from durable.usercode.durations import Duration, seconds
from durable.usercode.hints import innermost
from durable.usercode.signatures import default_of, name_of, parameter_types, required_keyword, result_type

OnRollbackFailure = Literal["halt", "continue"]
NAME = re.compile(r"[0-9a-zA-Z_.:-]{1,64}")
NO_INPUT: Any = object()  # of a start without input, and of a workflow whose input has no default

if TYPE_CHECKING:
    from typing import Concatenate

    from durable.api.generics import I, O, P, R, S, W

    class NamedWorkflow(Protocol[S]):
        """What `@workflow(...)` returns: it takes the function."""

        @overload
        def __call__(self, run: Callable[[Context[S], I], O], /) -> Workflow[I, O, S]: ...
        @overload
        def __call__(self, run: Callable[[Context[S]], O], /) -> Workflow[None, O, S]: ...


class Workflow(Typed["I", "O", "S"]):
    """A workflow: the function, its name and version, and how its executions are treated."""

    def __init__(
        self,
        run: Callable[..., Any],
        *,
        name: str,
        version: int,
        state: Callable[[], Any] | None,
        timeout: float | None,
        on_rollback_failure: OnRollbackFailure,
        drift: Drift | None,
    ) -> None:
        self.run = run
        self.name = name
        self.version = version
        self.state = state
        self.timeout = timeout
        self.on_rollback_failure: OnRollbackFailure = on_rollback_failure
        self.drift: Drift | None = drift
        self.actions: dict[str, ActionFunction[Any, Any, Any]] = {}
        parameters = parameter_types(run)
        self.takes_input = len(parameters) == 2
        # What a start without input starts with.
        self.default = default_of(run, parameters[1][0], NO_INPUT) if self.takes_input else NO_INPUT
        self.__doc__ = run.__doc__
        self.__module__ = run.__module__

    if TYPE_CHECKING:

        def __call__(self, ctx: Context[S], input: I, /) -> O: ...

    else:

        def __call__(self, *given):
            """Run the function as it is: the runtime does so under a replay, a workflow may do so with its own context."""
            self._check_given(given)
            result = self.run(*given[: 2 if self.takes_input else 1])
            if type(result) is CoroutineType:
                result.close()
                raise InvalidCall(
                    f"workflow '{self.name}' returned a coroutine: a workflow function is plain `def`, and awaits nothing. "
                    "Step bodies may be `async def`."
                )
            return result

        def _check_given(self, given):
            fewest = 2 if self.takes_input and self.default is NO_INPUT else 1
            if not fewest <= len(given) <= 2 or not hasattr(given[0], "step"):
                raise InvalidCall(
                    f"workflow '{self.name}' is started by a client: client.start({self.name}"
                    f"{', ...' if self.takes_input else ''}). Called as a function it takes a context"
                    f"{' and its input' if self.takes_input else ''}: another workflow may do so with its own."
                )

    @overload
    def action(self, run: Callable[Concatenate[Action[S], P], R], /) -> ActionFunction[S, P, R]: ...
    @overload
    def action(
        self, *, name: str | None = None, read_only: bool = True
    ) -> Callable[[Callable[Concatenate[Action[S], P], R]], ActionFunction[S, P, R]]: ...
    def action(self, run: Any = None, *, name: str | None = None, read_only: bool = True) -> Any:
        """Make a function `(action, ...)` callable from outside, with the state of an execution.

        `name` is the function's own by default. One that changes the state says `read_only=False`: it commits only
        while no step runs and the state is as it was read. Raises InvalidCall for a name that is taken.
        """

        def decorate(function: Callable[..., Any]) -> ActionFunction[Any, Any, Any]:
            chosen = checked_name(name if name is not None else getattr(function, "__name__", ""))
            if chosen in self.actions:
                raise InvalidCall(f"workflow '{self.name}' has two actions called '{chosen}': rename one")
            made: ActionFunction[Any, Any, Any] = ActionFunction(function, chosen, read_only=read_only)
            self.actions[chosen] = made
            return made

        return decorate if run is None else decorate(run)

    @cached_property  # of one function, whose annotations can be resolved once it is started: asked at every replay
    def input_type(self) -> Any:
        """The annotation of the input; None for a workflow that takes none."""
        return parameter_types(self.run)[1][1] if self.takes_input else None

    @property
    def output_type(self) -> Any:
        """The annotation of the output."""
        return result_type(self.run)

    stored_instead = "Return its .name."

    @property
    def where(self) -> str:
        """The file and line of the function."""
        code = getattr(innermost(self.run), "__code__", None)
        return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(self.run)

    def __repr__(self) -> str:
        return f"<workflow {self.name} version {self.version}>"


AnyWorkflow = Workflow[Any, Any, Any]


@overload
def workflow(run: Callable[[Context[W], I], O], /) -> Workflow[I, O, W]: ...
@overload
def workflow(run: Callable[[Context[W]], O], /) -> Workflow[None, O, W]: ...
@overload
def workflow(
    *,
    name: str | None = None,
    version: int = 1,
    state: type[W] | Callable[[], W],
    timeout: Duration | None = None,
    on_rollback_failure: OnRollbackFailure = "halt",
    drift: Literal["error", "warn"] | None = None,
) -> NamedWorkflow[W]: ...
@overload
def workflow(
    *,
    name: str | None = None,
    version: int = 1,
    timeout: Duration | None = None,
    on_rollback_failure: OnRollbackFailure = "halt",
    drift: Literal["error", "warn"] | None = None,
) -> NamedWorkflow[Any]: ...
def workflow(
    run: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    version: int = 1,
    state: Callable[[], Any] | None = None,
    timeout: Duration | None = None,
    on_rollback_failure: OnRollbackFailure = "halt",
    drift: Literal["error", "warn"] | None = None,
) -> Any:
    """Make a function `(ctx)` or `(ctx, input)` a workflow; a default of the input is what a start without input gets.

    `name` is the function's own by default: 1 to 64 characters of `[0-9a-zA-Z_.:-]`. `version` tells executions of
    changed code apart. `state` makes the first state document: a class, or a function without arguments.
    `timeout` bounds an execution, in seconds or as a timedelta. `on_rollback_failure` halts the chain of
    rollbacks at one that failed for good, or continues with the others. `drift` checks arguments against the
    recorded ones. Raises InvalidCall or InvalidName at the decorator.
    """

    def decorate(function: Callable[..., Any]) -> Workflow[Any, Any, Any]:
        return Workflow(
            checked(function),
            name=checked_name(name if name is not None else getattr(function, "__name__", "")),
            version=version,
            state=state,
            timeout=None if timeout is None else seconds(timeout, "workflow: timeout", zero=False),
            on_rollback_failure=on_rollback_failure,
            drift=drift,
        )

    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidCall(f"workflow: version is a whole number from 1, not {version!r}")
    if state is not None and not callable(state):
        raise InvalidCall(f"workflow: state is a class or a function that makes the first document, not {state!r}")
    if on_rollback_failure not in ("halt", "continue"):
        raise InvalidCall(f"workflow: on_rollback_failure is 'halt' or 'continue', not {on_rollback_failure!r}")
    if drift not in (None, "error", "warn"):
        raise InvalidCall(f"workflow: drift is 'error', 'warn' or None, not {drift!r}")
    return decorate if run is None else decorate(run)


def checked_name(name: object) -> str:
    """A workflow's name; raises InvalidName."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidName(f"a workflow's name is 1 to 64 characters of [0-9a-zA-Z_.:-], not {name!r}")
    return name


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that can be a workflow; raises InvalidCall."""
    if not callable(function):
        raise InvalidCall(f"workflow: give it a function (ctx) or (ctx, input), not {shown_value(function)}")
    name = name_of(function)
    _refuse_coroutine(name, innermost(function))
    parameters = parameter_types(function)
    if parameters and parameters[0][0] in ("self", "cls"):
        raise InvalidCall(
            f"workflow '{name}' is a method, and a workflow is started without an object of its class: make it a function of "
            "the module, or a @staticmethod below @workflow."
        )
    if len(parameters) not in (1, 2):
        raise InvalidCall(
            f"workflow '{name}' takes (ctx) or (ctx, input): put several inputs into one dataclass or dict."
        )
    if required := required_keyword(function):
        raise InvalidCall(
            f"workflow '{name}' requires the keyword '{required}', and nothing gives it one: the input of a workflow is "
            "its second positional parameter."
        )
    return function


def _refuse_coroutine(name: str, function: object) -> None:
    """Of the function behind decorators and partials: what they hide would be found only when it is run."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidCall(
            f"workflow '{name}' is `async def`: a workflow function is plain `def`. Step bodies may be `async def`."
        )
    if inspect.isgeneratorfunction(function):
        raise InvalidCall(f"workflow '{name}' is a generator: a workflow function returns its output.")
