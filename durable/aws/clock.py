"""The machine's clock."""

from __future__ import annotations

import time


class SystemClock:
    """Implements `durable.runtime.ports.Clock`."""

    def now(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def sleep(self, seconds: float) -> None:
        """Wait in place."""
        time.sleep(seconds)
