"""The process that Lambda runs us in."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

STATUS = 70  # EX_SOFTWARE; Lambda reports Runtime.ExitError and starts another process


class LambdaProcess:
    """Implements `durable.runtime.ports.Process`. `before` is the last thing that is done: metrics are flushed."""

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
