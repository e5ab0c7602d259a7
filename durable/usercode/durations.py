"""Durations, a `timedelta` or a number of seconds everywhere, and moments, in milliseconds since the epoch."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from durable.codec.display import shown_value
from durable.errors import InvalidCall

Duration = timedelta | float
"""A `timedelta`, or a number of seconds (not milliseconds)."""

LONGEST = 1e11  # seconds
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9000, 1, 1, tzinfo=UTC)  # of the moments that can be given
FOREVER = 253_402_300_799_000  # milliseconds since the epoch: a moment that never comes


def later(moment: int, seconds: float) -> int:
    """Return the moment so many seconds later, in milliseconds since the epoch; at most FOREVER.

    Every wake, deadline and timeout is made here: a moment beyond FOREVER could be neither stored nor recognised.
    """
    if seconds >= (FOREVER - moment) / 1000:
        return FOREVER
    return moment + round(seconds * 1000)


def seconds(duration: Duration, what: str, *, zero: bool = True) -> float:
    """The duration in seconds; raises InvalidCall, which says `what` it was for."""
    if isinstance(duration, timedelta):
        value = duration.total_seconds()
    elif isinstance(duration, (int, float)) and not isinstance(duration, bool):
        try:
            value = float(duration)
        except OverflowError:  # an int that is larger than any float
            value = math.inf
    else:
        raise InvalidCall(f"{what} is a timedelta or a number of seconds, not {type(duration).__name__}: {duration!r}")
    if math.isnan(value) or math.isinf(value):
        raise InvalidCall(f"{what} is {value}: give a finite duration, or None for no bound")
    if value < 0:
        raise InvalidCall(f"{what} is negative: {duration!r}")
    if value == 0 and not zero:
        raise InvalidCall(f"{what} is zero: give a positive duration, or None for no bound")
    return value


def milliseconds(duration: Duration, what: str, *, zero: bool = True) -> int:
    """Return the duration in milliseconds; raises InvalidCall, which says `what` it was for."""
    length = seconds(duration, what, zero=zero)
    if length > LONGEST:
        raise InvalidCall(f"{what}: {length:.0f} seconds is more than 3,000 years; durations are in seconds")
    return round(length * 1000)


def moment_of(milliseconds: int) -> datetime:
    """Return a moment as people read it."""
    return EPOCH + timedelta(milliseconds=milliseconds)


def milliseconds_of(moment: datetime, what: str) -> int:
    """Return a moment in milliseconds; raises InvalidCall, which says `what` it was for, for one without a time zone."""
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise InvalidCall(f"{what}: the moment is a datetime with a time zone, not {shown_value(moment)}")
    return round((min(moment, LATEST) - EPOCH).total_seconds() * 1000)
