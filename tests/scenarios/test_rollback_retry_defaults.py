"""What a `rollback_retry` leaves unset is as for every rollback: ten retries, 1 s to 5 min apart, a timeout retried too.

A field that is set is taken, also where it is set to what a step has by default.
"""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from durable import Context, Retry, Step, Undo
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("R1", "S1", "S3")


def reserve(step: Step) -> None:
    """Nothing."""


def waits(retry: Retry | None, *, times_out: bool = False) -> list[float]:
    """The seconds between the attempts of a rollback that always fails."""
    moments: list[int] = []

    def release(undo: Undo[None]) -> None:
        moments.append(durable.clock.now())
        if times_out:
            raise_timeout()
        raise ConnectionError("no line")

    def raise_timeout() -> None:
        end = time.monotonic() + 5
        while time.monotonic() < end:
            time.sleep(0.001)

    def order(ctx: Context) -> None:
        ctx.step(
            "reserve", reserve, rollback=release, rollback_retry=retry, rollback_timeout=0.01 if times_out else None
        )
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()
        assert (execution.status, execution.rollback.outcome) == ("failed", "failed")
    return [(after - before) / 1000 for before, after in pairwise(moments)]


DEFAULT = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0]


@pytest.mark.parametrize(
    ("retry", "expected"),
    [
        (Retry(jitter=False), DEFAULT),
        (Retry(12, jitter=False), [*DEFAULT, 300.0, 300.0]),
        (Retry(3, jitter=False), DEFAULT[:3]),
        (Retry(0, jitter=False), []),
        (Retry(6, jitter=False, backoff_base=100), [100.0, 200.0, 300.0, 300.0, 300.0, 300.0]),
        (Retry(6, jitter=False, backoff_max=10), [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]),
        (Retry(4, jitter=False, factor=10), [1.0, 10.0, 100.0, 300.0]),
        (Retry(6, jitter=False, backoff_max=30), [1.0, 2.0, 4.0, 8.0, 16.0, 30.0]),
        (Retry(3, jitter=False, backoff_base=0.1), [0.1, 0.2, 0.4]),
        (Retry(2, delay=lambda attempt, error: 7), [7.0, 7.0]),
        (Retry(delay=lambda attempt, error: 7), [7.0] * 10),
    ],
)
def test_what_is_unset_is_as_for_every_rollback(retry: Retry, expected: list[float]) -> None:
    assert waits(retry) == expected


@pytest.mark.parametrize("retry", [None, Retry(), Retry(20)])
def test_jitter_takes_up_to_half_of_a_wait_off(retry: Retry | None) -> None:
    found = waits(retry)
    expected = [*DEFAULT, *[300.0] * 10] if retry == Retry(20) else DEFAULT
    assert len(found) == len(expected)
    assert all(wait / 2 <= each <= wait for each, wait in zip(found, expected, strict=True)), found


@pytest.mark.parametrize(
    ("retry", "attempts"),
    [
        (Retry(2, backoff_base=0.1), 3),
        (Retry(2, on_timeout=True, backoff_base=0.1), 3),
        (Retry(2, on_timeout=False), 1),
    ],
)
def test_a_timeout_of_a_rollback_is_retried_unless_that_is_set_off(retry: Retry, attempts: int) -> None:
    assert len(waits(retry, times_out=True)) == attempts - 1


@pytest.mark.parametrize("retry", [Retry(), Retry(1), Retry(backoff_base=0.2)])
def test_the_same_retry_is_a_step_s_where_it_is_given_to_the_step(retry: Retry) -> None:
    moments: list[int] = []

    def fail(step: Step) -> None:
        moments.append(durable.clock.now())
        raise ConnectionError("no line")

    def order(ctx: Context) -> None:
        ctx.step("reserve", fail, retry=retry, rollback=lambda undo: None, rollback_retry=retry)

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert execution.error.type == "ConnectionError"
        assert len(moments) == (2 if retry == Retry(1) else 4)
        assert max(after - before for before, after in pairwise(moments)) <= 800
