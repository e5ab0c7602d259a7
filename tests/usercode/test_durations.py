"""Durations: a timedelta or a number of seconds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from durable.errors import InvalidCall
from durable.usercode.durations import seconds


@pytest.mark.parametrize(
    ("duration", "expected"),
    [(0, 0.0), (3, 3.0), (0.25, 0.25), (timedelta(minutes=2, milliseconds=5), 120.005), (timedelta(0), 0.0)],
)
def test_a_duration_in_seconds(duration: Any, expected: float) -> None:
    assert seconds(duration, "the timeout") == expected


@pytest.mark.parametrize(
    ("duration", "why"),
    [
        (-1, "the timeout is negative: -1"),
        (timedelta(seconds=-1), "the timeout is negative"),
        (float("nan"), "the timeout is nan"),
        pytest.param(10**400, "the timeout is inf", id="larger than a float"),
        (float("inf"), "the timeout is inf"),
        ("5", "the timeout is a timedelta or a number of seconds, not str: '5'"),
        (None, "the timeout is a timedelta or a number of seconds, not NoneType"),
        (True, "the timeout is a timedelta or a number of seconds, not bool"),
    ],
)
def test_what_is_no_duration_is_refused(duration: Any, why: str) -> None:
    with pytest.raises(InvalidCall, match=why):
        seconds(duration, "the timeout")


def test_zero_is_refused_where_it_would_mean_nothing() -> None:
    with pytest.raises(InvalidCall, match="the timeout is zero: give a positive duration, or None for no bound"):
        seconds(0, "the timeout", zero=False)
