"""Runs a body in a thread of its own, bounded in time (S4)."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from types import CoroutineType
from typing import Any

from msgspec import Struct

from durable.errors import is_failure

GRACE = 2.0  # seconds that a body has to end once it was told to


class AttemptTimedOut(BaseException):
    """Raised in the thread of a body that outlives its timeout."""


class Returned(Struct, frozen=True):
    """The body ended well."""

    value: Any


class Raised(Struct, frozen=True):
    """The body raised."""

    error: BaseException


class TimedOut(Struct, frozen=True):
    """The body outlived its timeout; `running`: it has not ended even now, and nothing can make it."""

    running: bool


Outcome = Returned | Raised | TimedOut


class Body:
    """One run of a body."""

    __slots__ = ("_arguments", "_cancel", "_context", "_function", "_outcome", "_subject")

    def __init__(
        self, function: Callable[..., Any], subject: object, arguments: Sequence[Any], context: contextvars.Context
    ) -> None:
        self._context = context
        self._function = function
        self._subject = subject
        self._arguments = arguments
        self._outcome: Outcome | None = None
        self._cancel: Callable[[], object] | None = None  # ends an `async def` body at its next await

    def run(self, timeout: float) -> Outcome:
        """The outcome, within `timeout` seconds and the grace. Only the end of the process passes through."""
        context = self._context.copy()  # an attempt's changes are its own
        thread = threading.Thread(target=context.run, args=(self._work,), name="durable-body", daemon=True)
        thread.start()
        thread.join(max(0.0, timeout))
        outcome = self._outcome
        if outcome is None:
            return TimedOut(running=self._interrupt(thread))
        if isinstance(outcome, Raised) and not is_failure(outcome.error):
            raise outcome.error
        return outcome

    def _work(self) -> None:
        try:
            value = self._function(self._subject, *self._arguments)
            if type(value) is CoroutineType:
                value = self._run_async(value)
            self._outcome = Returned(value)
        except BaseException as error:
            self._outcome = Raised(error)

    def _run_async(self, coroutine: CoroutineType[Any, Any, Any]) -> Any:
        from durable.runtime.invocation.event_loop import Running  # asyncio takes 30 ms, and few bodies need it

        running = Running(coroutine)
        self._cancel = running.cancel
        return running.result()

    def _interrupt(self, thread: threading.Thread) -> bool:
        """End the body at its next bytecode or await; whether it goes on all the same."""
        cancel = self._cancel
        if cancel is None:
            interrupt(thread)
        else:
            cancel()
        thread.join(GRACE)
        if cancel is not None and thread.is_alive():
            from durable.runtime.invocation.event_loop import give_up

            give_up()
        return thread.is_alive()


def interrupt(thread: threading.Thread) -> None:
    """Raise AttemptTimedOut in the thread at its next bytecode; a call that blocks in C goes on until it returns."""
    import ctypes

    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(AttemptTimedOut))
