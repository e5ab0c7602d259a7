"""Retries: how often an attempt is repeated, after which errors, and how long the execution waits between."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from durable.codec.display import shown_value
from durable.errors import ErrorInfo, InvalidCall, is_failure, members
from durable.usercode.durations import Duration, seconds
from durable.usercode.failures import beside

Only = type[BaseException] | tuple[type[BaseException], ...] | Callable[[Any], object]
"""Which errors are retried: a class of exceptions, several, or a function of the exception."""

_UNSET: Any = object()
_DEFAULTS: dict[str, Any] = {
    "max_retries": 3,
    "backoff_base": 0.1,
    "backoff_max": 30.0,
    "factor": 2.0,
    "jitter": True,
    "delay": None,
    "on_timeout": False,
    "only": None,
}


class Retry:
    """Repeat a failed attempt: how often, after which errors, and after how long."""

    __slots__ = ("_given", *_DEFAULTS)

    max_retries: int
    """How often it is repeated: there is one attempt more."""
    backoff_base: float
    """Seconds before the first retry."""
    backoff_max: float
    """Seconds that a wait takes at most."""
    factor: float
    """How many times longer each wait is than the one before."""
    jitter: bool
    """Whether up to half of a wait is taken off at random."""
    delay: Callable[[int, ErrorInfo], Duration] | None
    """What replaces the backoff: a function of the attempt that failed and its error."""
    on_timeout: bool
    """Whether attempts that ran out of time are repeated too."""
    only: Only | None
    """Which errors are retried; None is all that may be."""

    def __init__(
        self,
        max_retries: int = _UNSET,
        *,
        backoff_base: Duration = _UNSET,
        backoff_max: Duration = _UNSET,
        factor: float = _UNSET,
        jitter: bool = _UNSET,
        delay: Callable[[int, ErrorInfo], Duration] | None = _UNSET,
        on_timeout: bool = _UNSET,
        only: Only | None = _UNSET,
    ) -> None:
        """Say how a step is retried; what is left out is as usual.

        Usual for a step: 3 retries, the first after 0.1 seconds, each wait twice as long as the one before, up to 30
        seconds, with jitter. Usual for a rollback: 10 retries, from 1 second to 5 minutes, after a timeout too.
        Durations are seconds or a timedelta. `delay(attempt, error)` replaces the backoff. `only` says which errors are
        retried: `only=ConnectionError`, `only=(ConnectionError, TimeoutError)`, or a function of the exception. The step
        fails at once with its own error where `only` does not allow a retry, or where one of the two functions raises.
        Raises InvalidCall for what makes no sense.
        """
        values = {
            "max_retries": max_retries,
            "backoff_base": backoff_base,
            "backoff_max": backoff_max,
            "factor": factor,
            "jitter": jitter,
            "delay": delay,
            "on_timeout": on_timeout,
            "only": only,
        }
        self._given = {name: _CHECKS[name](value) for name, value in values.items() if value is not _UNSET}
        for name, usual in _DEFAULTS.items():
            setattr(self, name, self._given.get(name, usual))

    def over(self, usual: Retry) -> Retry:
        """Return this one, with what it leaves out as another has it."""
        return Retry(**{**usual._given, **self._given})

    @property
    def attempts(self) -> int:
        """How often a body runs at most."""
        return self.max_retries + 1

    def wait(self, attempt: int, error: ErrorInfo, seed: str) -> float:
        """Return the seconds between the failed `attempt` (from 1) and the next, the same for a seed.

        Raises what `delay` raises.
        """
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

    def after(self, attempt: int, raised: BaseException | None, error: ErrorInfo, seed: str) -> float | ErrorInfo:
        """Return the seconds before the attempt after this one, or the error with which the step fails instead.

        That is the attempt's own error, with what `only` or `delay` raised beside it. `raised` is None for an attempt that
        ran out of time. Never raises.
        """
        refusal = None if raised is None else self._refusal(raised)
        if refusal is not None:
            return error if refusal is _NOT_ONE_OF_THEM else beside(error, "Retry's only", refusal)
        try:
            return self.wait(attempt, error, seed)
        except BaseException as failure:
            if not is_failure(failure):
                raise
            return beside(error, "Retry's delay", failure)

    def _refusal(self, error: BaseException) -> BaseException | None:
        """Why it is not retried: None if it is; what the predicate raised."""
        try:
            return None if self._allows(error) else _NOT_ONE_OF_THEM
        except BaseException as failure:
            if not is_failure(failure):
                raise
            return failure

    def _allows(self, error: BaseException) -> bool:
        """Of a group that is not one of the classes itself: whether each of its members is allowed."""
        cls = type(error)  # isinstance would ask the error for its class
        if self.only is None or (isinstance(self.only, (type, tuple)) and issubclass(cls, self.only)):
            return True
        if issubclass(cls, BaseExceptionGroup):
            return all(map(self._allows, members(error)))
        return not isinstance(self.only, (type, tuple)) and bool(self.only(error))

    def _settings(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in _DEFAULTS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Retry) and self._settings() == other._settings()

    def __hash__(self) -> int:
        return hash(self._settings())

    def __repr__(self) -> str:
        return f"Retry({', '.join(f'{name}={value!r}' for name, value in self._given.items())})"


_NOT_ONE_OF_THEM = Exception("not one of the errors that are retried")


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidCall(f"Retry: max_retries is a whole number from 0, not {shown_value(value)}")
    return value


def _factor(value: Any) -> float:
    if not isinstance(value, (int, float)) or not 1 <= value < float("inf"):
        raise InvalidCall(f"Retry: factor is a number from 1, not {shown_value(value)}")
    return float(value)


def _delay(value: Any) -> Any:
    if value is not None and not callable(value):
        raise InvalidCall(f"Retry: delay is a function of (attempt, error), not {type(value).__name__}")
    return value


def _only(value: Any) -> Any:
    if isinstance(value, (list, set, frozenset)):
        value = tuple(value)
    classes = value if isinstance(value, tuple) else (value,) if isinstance(value, type) else ()
    fits = value is None or (callable(value) and not isinstance(value, type)) or bool(classes)
    if not fits or not all(isinstance(each, type) and issubclass(each, BaseException) for each in classes):
        raise InvalidCall(
            "Retry: only is a class of exceptions, several of them, or a function of the exception that says whether it is "
            f"retried, not {shown_value(value)}. No retries at all are Retry(0)."
        )
    return value


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "max_retries": _count,
    "backoff_base": lambda value: seconds(value, "Retry: backoff_base"),
    "backoff_max": lambda value: seconds(value, "Retry: backoff_max"),
    "factor": _factor,
    "jitter": bool,
    "delay": _delay,
    "on_timeout": bool,
    "only": _only,
}

STEP_RETRY = Retry()
AT_MOST_ONCE_RETRY = Retry(0)  # an interrupted attempt may have had its effect: a retry must be asked for (S5)
# A compensation is wanted more than a step is, and a hung one more than a failed one (R1).
ROLLBACK_RETRY = Retry(10, backoff_base=1.0, backoff_max=300.0, on_timeout=True)
