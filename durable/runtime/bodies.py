"""Runs a body in a thread of its own, bounded in time (S4)."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CoroutineType
from typing import Any

GRACE = 2.0  # seconds that a body has to end once it was told to


class AttemptTimedOut(BaseException):
    """Raised in the thread of a body that outlives its timeout."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The body ended well."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """The body raised."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The body outlived its timeout; `running`: it has not ended even now, and nothing can make it."""

    running: bool


Outcome = Returned | Raised | TimedOut


class Body:
    """One run of a body. What it raises beyond Exception (a dying process in a test, say) passes through `run`."""

    __slots__ = ("_arguments", "_done", "_function", "_outcome", "_subject")

    def __init__(self, function: Callable[..., Any], subject: object, arguments: Sequence[Any]) -> None:
        self._function = function
        self._subject = subject
        self._arguments = arguments
        self._outcome: Outcome | None = None
        self._done = threading.Event()

    def run(self, timeout: float) -> Outcome:
        """The outcome, within `timeout` seconds and the grace."""
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(self._work,), name="durable-body", daemon=True)
        thread.start()
        if not self._done.wait(max(0.0, timeout)):
            interrupt(thread)
            return TimedOut(running=not self._done.wait(GRACE))
        outcome = self._outcome
        if isinstance(outcome, Raised) and not isinstance(outcome.error, (Exception, SystemExit, GeneratorExit)):
            raise outcome.error
        assert outcome is not None
        return outcome

    def _work(self) -> None:
        try:
            try:
                value = self._function(self._subject, *self._arguments)
                if type(value) is CoroutineType:
                    import asyncio  # 30 ms, and only where a body is `async def` (S14)

                    value = asyncio.run(value)
                self._outcome = Returned(value)
            except BaseException as error:
                self._outcome = Raised(error)
            self._done.set()
        except AttemptTimedOut:  # it came between the body's end and here: the timeout was noticed all the same
            self._done.set()


def interrupt(thread: threading.Thread) -> None:
    """Raise AttemptTimedOut in the thread at its next bytecode; a call that blocks in C goes on until it returns."""
    import ctypes

    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(AttemptTimedOut))
