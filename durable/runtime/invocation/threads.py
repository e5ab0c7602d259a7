"""Run a body in another thread than the workflow's, bounded in time (S4)."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import CoroutineType
from typing import Any

from msgspec import Struct

from durable.errors import is_failure

GRACE = 2.0  # seconds that a body has to end once it was told to
IDLE = 1.0  # seconds that a thread waits for its next body


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

    def run(self, threads: BodyThreads, timeout: float) -> Outcome:
        """The outcome, within `timeout` seconds and the grace. Only the end of the process passes through."""
        context = self._context.copy()  # an attempt's changes are its own
        thread = threads.begin(lambda: context.run(self._work))
        if thread.wait(max(0.0, timeout)):
            threads.take_back(thread)
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

    def _interrupt(self, thread: BodyThread) -> bool:
        """End the body at its next bytecode or await; whether it goes on all the same."""
        running = thread.end(self._cancel, GRACE)
        if self._cancel is not None and running:
            from durable.runtime.invocation.event_loop import give_up

            give_up()
        return running


class BodyThread:
    """A thread that runs one body after the other, and ends when none has come for a while."""

    __slots__ = ("_begin", "_ended", "_idle", "_last", "_thread", "_work")

    def __init__(self, idle: list[BodyThread]) -> None:
        self._idle = idle  # those of the process that wait for a body
        self._work: Callable[[], object] = _nothing
        self._begin, self._ended = threading.Lock(), threading.Lock()
        self._begin.acquire()
        self._ended.acquire()
        self._last = False  # the body that runs is the last one
        self._thread = threading.Thread(target=self._serve, name="durable-body", daemon=True)
        self._thread.start()

    def begin(self, work: Callable[[], object]) -> None:
        """Run a body."""
        self._work = work
        self._begin.release()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the body; whether it has ended."""
        return self._ended.acquire(timeout=min(seconds, threading.TIMEOUT_MAX))

    def end(self, cancel: Callable[[], object] | None, grace: float) -> bool:
        """End the thread and the body that runs in it; whether it goes on all the same. `cancel` ends an `async def` body."""
        self._last = True
        if cancel is None:
            interrupt(self._thread)
        else:
            cancel()
        self._thread.join(grace)
        return self._thread.is_alive()

    def _serve(self) -> None:
        with suppress(AttemptTimedOut):  # it may come when the body has just ended
            while not self._last:
                if not self._begin.acquire(timeout=IDLE) and self._retires():
                    return
                work, self._work = self._work, _nothing
                work()
                self._ended.release()

    def _retires(self) -> bool:
        """Whether nobody can give this thread a body any more; else one is on its way."""
        try:
            self._idle.remove(self)
        except ValueError:
            self._begin.acquire()
            return False
        return True


class BodyThreads:
    """The threads in which one process runs bodies: one that has ended its body is used again.

    To start a thread takes as long as several checkpoints to memory. One whose body was told to end is not used again.
    """

    __slots__ = ("_idle",)

    def __init__(self) -> None:
        self._idle: list[BodyThread] = []

    def begin(self, work: Callable[[], object]) -> BodyThread:
        """Run a body in a thread that is free, or in a new one."""
        try:
            thread = self._idle.pop()
        except IndexError:
            thread = BodyThread(self._idle)
        thread.begin(work)
        return thread

    def take_back(self, thread: BodyThread) -> None:
        """The body of this thread has ended: it is free for another one."""
        self._idle.append(thread)


def _nothing() -> None:
    """No body."""


def interrupt(thread: threading.Thread) -> None:
    """Raise AttemptTimedOut in the thread at its next bytecode; a call that blocks in C goes on until it returns."""
    import ctypes

    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(AttemptTimedOut))
