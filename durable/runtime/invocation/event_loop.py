"""One event loop for the process, on a thread of its own: it runs every `async def` body (S14).

A client that is kept in the process is bound to the loop on which it was first used: with a loop for each body, its second
use would fail. What a body leaves running on the loop goes on, for that is how such clients work.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from contextlib import suppress
from types import CoroutineType
from typing import Any


class Running:
    """A coroutine on the loop."""

    def __init__(self, coroutine: CoroutineType[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self._loop = _the_loop()
        self._done = threading.Event()
        self._task: asyncio.Task[Any] | None = None
        self._cancelled = False
        self._value: Any = None
        self._error: BaseException | None = asyncio.CancelledError()

    def result(self) -> Any:
        """Run it to its end; return what it returns, and raise what it raises."""
        self._loop.call_soon_threadsafe(self._start, contextvars.copy_context())
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._value

    def cancel(self) -> None:
        """Cancel it at its next await, from another thread."""
        self._cancelled = True
        with suppress(RuntimeError):  # its loop has been given up
            self._loop.call_soon_threadsafe(self._cancel)

    def _start(self, context: contextvars.Context) -> None:
        self._task = self._loop.create_task(self._main(), context=context)
        self._task.add_done_callback(self._ended)
        if self._cancelled:
            self._cancel()

    async def _main(self) -> None:
        try:
            self._value = await self._coroutine
            self._error = None
        except BaseException as error:  # a SystemExit would end the loop
            self._error = error

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._coroutine.close()  # if it was cancelled before it began
        self._done.set()


_lock = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []  # the one that is in use


def _the_loop() -> asyncio.AbstractEventLoop:
    with _lock:
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=_run, args=(loop,), name="durable-event-loop", daemon=True).start()
            _loops.append(loop)
        return _loops[0]


def give_up() -> None:
    """Leave the loop to the body that blocks it; the next body gets another."""
    _loops.clear()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop for ever, also after a task that exits or a body that stops it."""
    asyncio.set_event_loop(loop)
    while True:
        with suppress(BaseException):
            loop.run_forever()


os.register_at_fork(after_in_child=give_up)  # the thread is the parent's
