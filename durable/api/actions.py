"""Actions: functions of a workflow that are called from outside, with the state."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from durable import codec
from durable.api.document import Document
from durable.api.generics import Called, Scoped
from durable.api.log import ExecutionLog
from durable.errors import CodecError, InvalidCall, InvalidInput
from durable.usercode.signatures import hints_of, signature_of

if TYPE_CHECKING:
    from logging import Logger, LoggerAdapter

    from durable.api.generics import P, R, S, W


class Action(Scoped["S"]):
    """What an action is given: the state, and which execution it is of."""

    __slots__ = ("_document", "_log", "execution_id")

    def __init__(self, document: Document, execution_id: str, log: ExecutionLog) -> None:
        self._document = document
        self._log = log
        self.execution_id = execution_id

    @property
    def state(self) -> S:
        """The durable document; an action that is not read-only may change it."""
        document: S = self._document.value
        return document

    @state.setter
    def state(self, value: S) -> None:
        self._document.value = value

    @property
    def log(self) -> LoggerAdapter[Logger]:
        """A logger whose lines carry workflow, execution and action."""
        return self._log


class ActionFunction(Called["W", "P", "R"]):
    """A function of a workflow that can be called from outside, by itself or by name."""

    def __init__(self, run: Callable[..., Any], name: str, *, read_only: bool) -> None:
        self.run = run
        self.name = name
        self.read_only = read_only
        self.__doc__ = run.__doc__

    if TYPE_CHECKING:

        def __call__(self, action: Action[W], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    else:

        def __call__(self, action, /, *args, **kwargs):
            """Run the function as it is."""
            return self.run(action, *args, **kwargs)

    def check(self, args: Sequence[object], named: Mapping[str, object]) -> None:
        """Raise InvalidCall when it can't be called with these arguments."""
        signature = signature_of(self.run)
        try:
            signature.bind("Action", *args, **named)
        except TypeError as error:
            raise InvalidCall(
                f"action '{self.name}': {self.name}{signature} can't be called so: {error}. It gets the Action first, then the "
                "arguments of the call."
            ) from None

    def arguments(self, plain: Mapping[str, object]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return positional and named arguments from JSON by name, parsed or as text (bytes).

        Raises InvalidInput that names the misfit.
        """
        signature = signature_of(self.run)
        (first, *parameters) = signature.parameters.values()
        many = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        known = {parameter.name: parameter for parameter in parameters if parameter.kind not in many}
        for name in plain.keys() - known.keys():
            raise InvalidInput(
                f"action '{self.name}' has no argument '{name}'; it has: {', '.join(known) or 'none'}", f"$.{name}"
            )
        for name, parameter in known.items():
            if parameter.default is parameter.empty and name not in plain:
                raise InvalidInput(f"action '{self.name}' lacks its argument '{name}'", f"$.{name}")
        hints = hints_of(self.run)
        values = {name: _fitted(name, plain[name], hints.get(name, Any)) for name in known if name in plain}
        bound = signature.bind_partial()
        bound.arguments.update({first.name: None, **values})
        return bound.args[1:], bound.kwargs

    def __repr__(self) -> str:
        return f"<action {self.name}>"


def _fitted(name: str, plain: object, annotation: Any) -> Any:
    try:
        return codec.accept(plain, annotation)
    except CodecError as error:
        raise InvalidInput(str(error), f"$.{name}") from error
    except InvalidInput as error:
        path = f"$.{name}{error.path[1:]}"
        raise InvalidInput(str(error).replace(f"`{error.path}`", f"`{path}`"), path) from error
