"""The process that Lambda runs: its clock, its end, and random ids."""

from __future__ import annotations

import os
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import NoReturn

STATUS = 70  # EX_SOFTWARE; Lambda reports Runtime.ExitError and starts another process
SIZE = 9  # bytes: 72 bits, written in 12 characters; short, for they are stored on every head


class SystemClock:
    """Implements `durable.runtime.ports.Clock`."""

    def now(self) -> int:
        """Return the time in milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def sleep(self, seconds: float) -> None:
        """Wait in place."""
        time.sleep(seconds)


class RandomNonces:
    """Implements `durable.runtime.ports.Nonces`."""

    def __call__(self) -> str:
        """Return a short string that was never returned before."""
        return urlsafe_b64encode(os.urandom(SIZE)).decode()


class LambdaProcess:
    """Implements `durable.runtime.ports.Process`. `before` is called last: it flushes metrics."""

    def __init__(self, before: Callable[[], None] | None = None) -> None:
        self._before = before

    def exit(self) -> NoReturn:
        """End at once, with everything that runs in it, threads too; never returns."""
        try:
            if self._before is not None:
                self._before()
            sys.stdout.flush()
        finally:
            os._exit(STATUS)
