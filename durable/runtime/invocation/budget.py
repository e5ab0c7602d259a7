"""How much one invocation may do (D1)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from durable.api.calls import Drift
from durable.runtime.invocation.threads import GRACE

ENOUGH = 0.5  # of a whole invocation: with so much left, a further body without a timeout of its own may start
WHOLE = 0.9  # of an invocation: counts as all of it
LEASE_MARGIN = 10.0  # seconds that a lease outlives its invocation: the clocks of two processes differ by less
RECORDING_MARGIN = 1.0  # seconds kept at the end of an invocation, to record an outcome and send the continuation


class Settings(Struct, frozen=True):
    """How a deployment runs executions."""

    steps: int = 1  # bodies an invocation
    seconds: float | None = None  # no new body after so long; None: no bound of its own
    inline_wait: float = 1.0  # a retry's backoff up to this is waited in place (S2)
    drift: Drift = "off"  # compare arguments with the recorded ones: off, warn or error (D6)


class Remaining:
    """The seconds that are left of an invocation, and how many there were when its message came."""

    def __init__(self, left: Callable[[], float]) -> None:
        self._left = left
        self.whole = left()

    def __call__(self) -> float:
        """Return the seconds that are left."""
        return self._left()


class Budget:
    """What one invocation may still do. `fullest` is what an invocation has when it is all for one execution.

    Time that is lost before a body (a slow claim, a long replay) is never the fault of its step.
    """

    def __init__(self, settings: Settings, remaining: Remaining, fullest: float) -> None:
        self._steps = settings.steps
        self._remaining = remaining
        self._whole = remaining.whole
        self._fresh = remaining.whole >= WHOLE * fullest
        self._most = max(0.0, fullest - RECORDING_MARGIN - GRACE)
        self._seconds = settings.seconds
        self.inline_wait = settings.inline_wait
        self.done = 0  # bodies that have ended

    def usable(self) -> float:
        """Return the seconds that a body may still take, so that it can be stopped and recorded before the deadline."""
        return max(0.0, self._remaining() - RECORDING_MARGIN - GRACE)

    def spent(self) -> bool:
        """Return whether no further body may start here."""
        if self.done >= self._steps:
            return True
        return self._seconds is not None and self._whole - self._remaining() >= self._seconds

    def allows(self, timeout: float | None, *, once: bool = False) -> bool:
        """Return whether a body may start here: only with the time that it may need, or would get in another invocation.

        `once`: it may not be repeated, so it gets nothing less than all of it. Any other first body of a fresh invocation
        starts with whatever is left: where every claim is slow, it would get no more elsewhere.
        """
        usable = self.usable()
        if not self.done and self._fresh and not once:
            return usable > 0
        return not (self.done and self.spent()) and usable >= self._needed(timeout, WHOLE if once else ENOUGH)

    def cuts(self, timeout: float | None) -> bool:
        """Return whether an attempt that starts now gets less time than it should: its timeout is then not its fault."""
        return self.usable() < self._needed(timeout, WHOLE)

    def _needed(self, timeout: float | None, share: float) -> float:
        most = share * self._most
        return most if timeout is None else min(timeout, most)

    def limit(self, timeout: float | None) -> float:
        """Return the seconds that the next attempt gets."""
        usable = self.usable()
        return usable if timeout is None else min(timeout, usable)

    def can_wait(self, seconds: float, timeout: float | None) -> bool:
        """Return whether a wait is short enough to be made in place, and leaves the next attempt the time that it may need."""
        return seconds <= self.inline_wait and self.usable() - seconds >= self._needed(timeout, WHOLE)
