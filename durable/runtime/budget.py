"""How much one invocation may do (D1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from durable.engine.replay import Drift
from durable.runtime.bodies import GRACE

RECORDING_MARGIN = 1.0  # seconds kept at the end of an invocation, to record an outcome and send the continuation


@dataclass(frozen=True, slots=True)
class Settings:
    """How a deployment runs executions."""

    steps: int = 1  # bodies an invocation
    seconds: float | None = None  # no new body after so long; None: no bound of its own
    inline_wait: float = 1.0  # a retry's backoff up to this is waited in place (S2)
    drift: Drift = "off"  # compare arguments with the recorded ones: off, warn or error (D6)


class Budget:
    """What is left of one invocation."""

    def __init__(self, settings: Settings, remaining: Callable[[], float]) -> None:
        self._steps = settings.steps
        self._remaining = remaining
        self._whole = remaining()
        self._seconds = settings.seconds
        self.inline_wait = settings.inline_wait
        self.done = 0  # bodies that have ended

    def usable(self) -> float:
        """Seconds that a body may still take, so that it can be stopped and recorded before the deadline."""
        return max(0.0, self._remaining() - RECORDING_MARGIN - GRACE)

    def spent(self) -> bool:
        """Whether no further body may start here."""
        if self.done >= self._steps:
            return True
        return self._seconds is not None and self._whole - self._remaining() >= self._seconds

    def allows(self, timeout: float | None) -> bool:
        """Whether a body may start here. The first may always; a later one only with the time that it may need."""
        if self.done == 0:
            return True
        if self.spent():
            return False
        needed = (self._whole - RECORDING_MARGIN - GRACE) / 2 if timeout is None else timeout
        return self.usable() >= min(needed, self._whole - RECORDING_MARGIN - GRACE)

    def limit(self, timeout: float | None) -> float:
        """Seconds that the next attempt gets."""
        usable = self.usable()
        return usable if timeout is None else min(timeout, usable)

    def can_wait(self, seconds: float) -> bool:
        """Whether a wait is short enough to be made in place, and leaves most of the invocation for what follows."""
        return seconds <= self.inline_wait and self.usable() - seconds > self._whole / 2
