"""Retry: how often, and how long between."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from durable import ErrorInfo, InvalidCall, Retry
from durable.api.retry import AT_MOST_ONCE_RETRY, ROLLBACK_RETRY, STEP_RETRY

pytestmark = pytest.mark.rule("S1")

ERROR = ErrorInfo("Timeout", "no answer")


def waits(retry: Retry, count: int = 10, seed: str = "seed") -> list[float]:
    return [round(retry.wait(attempt, ERROR, seed), 6) for attempt in range(1, count + 1)]


def test_retries_are_counted_and_attempts_are_one_more() -> None:
    assert [Retry(0).attempts, Retry(3).attempts] == [1, 4]


def test_the_defaults() -> None:
    assert Retry() == Retry(3, backoff_base=0.1, backoff_max=30.0, factor=2.0, jitter=True, delay=None)
    assert Retry() == STEP_RETRY
    assert Retry(0) == AT_MOST_ONCE_RETRY
    assert Retry(10, backoff_base=1.0, backoff_max=300.0, on_timeout=True) == ROLLBACK_RETRY


def test_the_first_wait_is_the_base_and_each_next_is_longer_by_the_factor_up_to_the_max() -> None:
    assert waits(Retry(jitter=False)) == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]
    assert waits(Retry(jitter=False, backoff_base=1, factor=3, backoff_max=10), 4) == [1, 3, 9, 10]
    assert waits(Retry(jitter=False, backoff_base=timedelta(minutes=1), factor=1, backoff_max=600), 3) == [60, 60, 60]


def test_the_wait_after_very_many_attempts_is_the_max() -> None:
    assert Retry(5_000, jitter=False).wait(5_000, ERROR, "seed") == 30.0


def test_jitter_takes_up_to_half_off_and_never_adds() -> None:
    drawn = [Retry(backoff_base=1).wait(1, ERROR, str(seed)) for seed in range(500)]

    assert 0.5 <= min(drawn) < 0.52
    assert 0.98 < max(drawn) <= 1.0


def test_jitter_is_the_same_whenever_it_is_asked_for_and_differs_between_executions_and_attempts() -> None:
    retry = Retry(backoff_base=1, factor=1)

    assert waits(retry, 5, "one") == waits(retry, 5, "one")
    assert len({*waits(retry, 5, "one"), *waits(retry, 5, "two")}) == 10


def test_a_delay_replaces_the_backoff_and_sees_attempt_and_error() -> None:
    seen: list[tuple[int, ErrorInfo]] = []

    def delay(attempt: int, error: ErrorInfo) -> timedelta:
        seen.append((attempt, error))
        return timedelta(hours=attempt)

    assert waits(Retry(delay=delay), 3) == [3600, 7200, 10800]
    assert seen == [(1, ERROR), (2, ERROR), (3, ERROR)]


def test_what_a_delay_raises_is_raised() -> None:
    def delay(attempt: int, error: ErrorInfo) -> float:
        raise LookupError("no schedule")

    with pytest.raises(LookupError, match="no schedule"):
        Retry(delay=delay).wait(1, ERROR, "seed")


@pytest.mark.parametrize("returned", [-1, float("nan"), float("inf"), None, "soon"])
def test_a_delay_that_is_no_duration_is_refused(returned: Any) -> None:
    with pytest.raises(InvalidCall, match="what Retry's delay returned"):
        Retry(delay=lambda attempt, error: returned).wait(1, ERROR, "seed")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"max_retries": -1}, "max_retries is a whole number from 0, not -1"),
        ({"max_retries": 2.5}, "max_retries is a whole number from 0, not 2.5"),
        ({"max_retries": True}, "max_retries is a whole number from 0, not True"),
        ({"factor": 0.5}, "factor is a number from 1, not 0.5"),
        ({"factor": float("inf")}, "factor is a number from 1, not inf"),
        ({"factor": float("nan")}, "factor is a number from 1, not nan"),
        ({"factor": "2"}, "factor is a number from 1, not '2'"),
        ({"backoff_base": -0.1}, "backoff_base is negative: -0.1"),
        ({"backoff_max": float("nan")}, "backoff_max is nan"),
        ({"delay": 5}, r"delay is a function of \(attempt, error\), not int"),
    ],
)
def test_a_retry_that_makes_no_sense_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidCall, match=f"Retry: {why}"):
        Retry(**options)
