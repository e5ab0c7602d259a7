"""Runs functions as Lambda does: in a warm process that is made anew after a death, and stopped at its deadline."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from durable.testing.functions import DeployedFunction
from durable.testing.invocations import Invocation, Invocations, ProcessDied

LOGGER = logging.getLogger("durable.testing")


class Wiring(Protocol):
    """What the handlers' package offers: the application that its handlers use."""

    def install(self, application: Any) -> None:
        """Handlers use this application; None: the next one to be asked for is built anew."""


Build = Callable[[Mapping[str, str]], Any]
"""Builds an application for an environment."""


@dataclass(slots=True)
class Processes:
    """The applications of the processes that are warm, by function. One that died is never used again."""

    wiring: Wiring | None
    build: Build
    _warm: dict[str, list[Any]] = field(default_factory=dict)
    _installed: list[Any] = field(default_factory=list)

    @contextmanager
    def running(self, function: DeployedFunction, invocation: Invocation) -> Iterator[None]:
        """The function's process has the invocation; another one is started if it is busy."""
        if self.wiring is None:
            yield
            return
        warm = self._warm.setdefault(function.id, [])
        application = warm.pop() if warm else self.build(function.environment)
        self._install(application)
        try:
            yield
        finally:
            self._installed.pop()
            self.wiring.install(self._installed[-1] if self._installed else None)
            if not invocation.died:
                warm.append(application)

    def cool(self) -> None:
        """Every process that is idle ends: the next invocation of each function is a cold start."""
        self._warm.clear()

    def _install(self, application: Any) -> None:
        assert self.wiring is not None
        self._installed.append(application)
        self.wiring.install(application)


@dataclass(frozen=True, slots=True)
class Runner:
    """Invokes functions by logical id."""

    functions: Mapping[str, DeployedFunction]
    invocations: Invocations
    processes: Processes
    recorded: Callable[[], AbstractContextManager[None]]
    limit: Callable[[], int]

    def invoke(self, function_id: str, event: Any) -> Invocation:
        """Invokes the function; how it went is in what is returned, and nothing is raised."""
        function = self.functions[function_id]
        if len(self.invocations.all) >= self.limit():
            raise EndlessRun(self.limit(), function_id, event)
        context = function.context()
        with self.recorded(), self.invocations.running(function_id, event, context.deadline) as invocation:
            try:
                with self.processes.running(function, invocation):
                    invocation.answer = function.invoke(event, context)
            except (ProcessDied, SystemExit):
                invocation.died = True
            except Exception as error:
                LOGGER.exception("the function %s raised", function_id)
                invocation.error = error
            if function.clock.now() > context.deadline:
                invocation.died = True
        return invocation


class EndlessRun(RuntimeError):
    """A run that goes on and on."""

    def __init__(self, limit: int, function_id: str, event: Any) -> None:
        super().__init__(
            f"{limit:,} invocations and something is still due; the next is of {function_id} with {event!r:.500}. "
            "A message comes back again and again: look at durable.invocations, or run for a duration."
        )
