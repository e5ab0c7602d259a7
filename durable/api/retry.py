"""Retries: how often an attempt is repeated and how long the execution waits between (S1)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from durable.errors import ErrorInfo, InvalidCall
from durable.usercode.durations import Duration, seconds


class Retry:
    """Repeat a failed attempt after `backoff_base`, then `factor` times as long, up to `backoff_max`.

    `max_retries` counts retries, so attempts are one more. Jitter takes up to half of a wait off.
    `delay(attempt, error)` replaces the backoff; if it raises, the step fails terminally. `on_timeout` retries
    attempts that ran out of time too (S3).
    """

    __slots__ = ("backoff_base", "backoff_max", "delay", "factor", "jitter", "max_retries", "on_timeout")

    def __init__(
        self,
        max_retries: int = 3,
        *,
        backoff_base: Duration = 0.1,
        backoff_max: Duration = 30.0,
        factor: float = 2.0,
        jitter: bool = True,
        delay: Callable[[int, ErrorInfo], Duration] | None = None,
        on_timeout: bool = False,
    ) -> None:
        if not isinstance(max_retries, int) or isinstance(max_retries, bool) or max_retries < 0:
            raise InvalidCall(f"Retry: max_retries is a whole number from 0, not {max_retries!r}")
        if not isinstance(factor, (int, float)) or not 1 <= factor < float("inf"):
            raise InvalidCall(f"Retry: factor is a number from 1, not {factor!r}")
        if delay is not None and not callable(delay):
            raise InvalidCall(f"Retry: delay is a function of (attempt, error), not {type(delay).__name__}")
        self.max_retries = max_retries
        self.backoff_base = seconds(backoff_base, "Retry: backoff_base")
        self.backoff_max = seconds(backoff_max, "Retry: backoff_max")
        self.factor = float(factor)
        self.jitter = jitter
        self.delay = delay
        self.on_timeout = on_timeout

    @property
    def attempts(self) -> int:
        """How often a body runs at most."""
        return self.max_retries + 1

    def wait(self, attempt: int, error: ErrorInfo, seed: str) -> float:
        """Seconds between the failed `attempt` (from 1) and the next, stable for a seed; raises what `delay` raises."""
        if self.delay is not None:
            return seconds(self.delay(attempt, error), "what Retry's delay returned")
        try:
            grown = self.backoff_base * self.factor ** (attempt - 1)
        except OverflowError:
            grown = self.backoff_max
        bounded = min(self.backoff_max, grown)
        if self.jitter:
            bounded *= 1 - Random(f"{seed}:{attempt}").random() / 2
        return bounded

    def _settings(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Retry) and self._settings() == other._settings()

    def __hash__(self) -> int:
        return hash(self._settings())

    def __repr__(self) -> str:
        return f"Retry({self.max_retries}, backoff_base={self.backoff_base}, backoff_max={self.backoff_max})"


STEP_RETRY = Retry()
AT_MOST_ONCE_RETRY = Retry(0)  # an interrupted attempt may have had its effect: a retry must be asked for (S5)
# A compensation is wanted more than a step is, and a hung one more than a failed one (R1).
ROLLBACK_RETRY = Retry(10, backoff_base=1.0, backoff_max=300.0, on_timeout=True)
