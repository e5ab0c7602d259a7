"""MiniStack at the time of whoever calls it: a program for MiniStack's own Python, which `infra.local.ministack` starts.

A request that carries a moment is answered as if it were that moment, so a test whose clock jumps takes the emulator along.
One that carries none, and what MiniStack does by itself, has the real time.
"""

from __future__ import annotations

import importlib
import time
from contextvars import ContextVar
from typing import Any

HEADER = "x-moment"  # milliseconds since the epoch

_moment: ContextVar[float | None] = ContextVar("moment", default=None)
_real_time = time.time


def _time() -> float:
    """What `time.time` is here; the request's context goes along into the threads that work for it."""
    moment = _moment.get()
    return _real_time() if moment is None else moment


def seconds(milliseconds: int) -> float:
    """A moment as MiniStack calculates with it: a binary fraction, so that an hour later is exactly an hour later."""
    return -(-milliseconds * 1024 // 1000) / 1024


def main() -> None:
    time.time = _time
    ministack: Any = importlib.import_module("ministack.app")
    answer = ministack.app

    async def app(scope: Any, receive: Any, send: Any) -> None:
        moment = dict(scope.get("headers", ())).get(HEADER.encode())
        _moment.set(None if moment is None else seconds(int(moment)))
        await answer(scope, receive, send)

    ministack.app = app
    ministack.main()


if __name__ == "__main__":
    main()
