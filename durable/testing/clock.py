"""The virtual clock: the whole process sees its time, which moves only when the harness moves it.

A clock that stood still would hide code that is not deterministic: `now = time.time()` would be the same at every replay. So
user code sees a time that no earlier invocation has seen, a millisecond or more ahead; the clock itself stays exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Self

import time_machine

from durable.errors import InvalidCall

START = datetime(
    2030, 1, 1, tzinfo=UTC
)  # a test's first moment, if it does not choose one: every run is at the same time


class VirtualClock:
    """A clock port (milliseconds since the epoch) and a context manager that stops the process's own clock."""

    def __init__(self, start: datetime = START) -> None:
        self._travel = time_machine.travel(_aware(start), tick=False)
        self._now = milliseconds(start)
        self._traveller: time_machine.Traveller | None = None
        self._ahead = 0  # milliseconds by which what the process sees is later than the clock
        self._latest = 0  # the latest time that an invocation has seen
        self._exact = 0

    def now(self) -> int:
        """Milliseconds since the epoch."""
        return self._now

    @property
    def moment(self) -> datetime:
        """Now, as a date in UTC."""
        return datetime.fromtimestamp(self._now / 1000, UTC)

    def sleep(self, seconds: float) -> None:
        """Waiting takes no time: the clock jumps."""
        self.advance(seconds)

    def advance(self, duration: timedelta | float) -> None:
        """Moves the clock on, without delivering what becomes due."""
        self.move_to(self._now + round(seconds(duration) * 1000))

    def move_to(self, now: int) -> None:
        """Moves the clock to a later moment, in milliseconds since the epoch."""
        if now < self._now:
            raise InvalidCall("a clock does not go back: give a later moment, or a duration of 0 or more.")
        self._now = now
        self._show()

    @contextmanager
    def invocation(self) -> Iterator[None]:
        """Show the process a time that none has seen before, for as long as an invocation lasts."""
        self._latest = max(self._latest, self._now) + 1
        with self.ahead(timedelta(milliseconds=self._latest - self._now)):
            try:
                yield
            finally:
                self._latest = max(self._latest, self._now + self._ahead)

    @contextmanager
    def ahead(self, by: timedelta) -> Iterator[None]:
        """Show the process a time that is so much later than the clock's."""
        before, self._ahead = self._ahead, by // timedelta(milliseconds=1)
        self._show()
        try:
            yield
        finally:
            self._ahead = before
            self._show()

    @contextmanager
    def exact(self) -> Iterator[None]:
        """Show the process the clock's own time: what answers for AWS lives by it."""
        self._exact += 1
        self._show()
        try:
            yield
        finally:
            self._exact -= 1
            self._show()

    def _show(self) -> None:
        if self._traveller is not None:
            shown = self._now if self._exact else self._now + self._ahead
            self._traveller.move_to(datetime.fromtimestamp(shown / 1000, UTC))

    def __enter__(self) -> Self:
        self._traveller = self._travel.__enter__()
        self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._traveller = None
        self._travel.__exit__(kind, error, trace)


def seconds(duration: timedelta | float) -> float:
    """A duration in seconds."""
    return duration.total_seconds() if isinstance(duration, timedelta) else float(duration)


def milliseconds(moment: datetime) -> int:
    """A moment in milliseconds since the epoch; without a time zone it is meant as UTC."""
    return (_aware(moment) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
