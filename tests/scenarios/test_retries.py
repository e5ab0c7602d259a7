"""A failed attempt is repeated: soon in place, later after a durable wait."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import pytest

from durable import (
    CodecError,
    Context,
    ErrorInfo,
    InvalidCall,
    Retry,
    RollbackError,
    Step,
    StepFailed,
    TerminalError,
    workflow,
)
from durable.testing import Harness

START = 1_893_456_000_000  # of the harness's clock
NO_LINE = ErrorInfo("OSError", "no line")


class Attempts:
    """A body that fails until its last attempt, and notes when each began: (invocation, milliseconds since the start)."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.began: list[tuple[int, int]] = []
        self.durable: Any = None

    def __call__(self, step: Step) -> int:
        self.began.append((len(self.durable.invocations), self.durable.clock.now() - START))
        if step.attempt <= self.failures:
            raise OSError("no line")
        return step.attempt


def calling(body: Any, **options: Any) -> Any:
    @workflow
    def order(ctx: Context) -> Any:
        return ctx.step("call", body, **options)

    return order


@pytest.mark.rule("S1")
@pytest.mark.parametrize("retries", [0, 1, 3])
def test_attempts_are_the_retries_and_one_more(retries: int) -> None:
    body = Attempts(failures=9)
    order = calling(body, retry=Retry(retries))
    with Harness(workflows=[order]) as durable:
        body.durable = durable
        execution = durable.start(order)
        durable.run()

        assert (execution.status, len(body.began)) == ("failed", retries + 1)
        assert execution.error.details == {"step": "call", "kind": "exhausted", "attempts": retries + 1}
        assert execution.history[0].attempts == retries + 1


@pytest.mark.rule("S1")
def test_a_step_is_retried_three_times_by_default() -> None:
    body = Attempts(failures=3)
    order = calling(body)
    with Harness(workflows=[order]) as durable:
        body.durable = durable
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", 4)


@pytest.mark.rule("S1", "S2")
def test_short_waits_are_made_in_place_and_grow_by_the_factor() -> None:
    body = Attempts(failures=4)
    order = calling(body, retry=Retry(4, jitter=False))
    with Harness(workflows=[order]) as durable:
        body.durable = durable
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", 5)
        assert body.began == [(1, 0), (1, 100), (1, 300), (1, 700), (1, 1_500)]


@pytest.mark.rule("S1", "S2")
def test_a_wait_of_more_than_a_second_suspends_the_execution() -> None:
    body = Attempts(failures=4)
    order = calling(body, retry=Retry(4, backoff_base=1, backoff_max=timedelta(minutes=1), factor=10, jitter=False))
    with Harness(workflows=[order]) as durable:
        body.durable = durable
        execution = durable.start(order)
        durable.deliver_once()
        assert (execution.status, execution.history[0].status, execution.history[0].error) == (
            "waiting",
            "retrying",
            NO_LINE,
        )
        durable.run()

        assert (execution.status, execution.output) == ("completed", 5)
        assert body.began == [(1, 0), (1, 1_000), (2, 11_000), (3, 71_000), (4, 131_000)]


@pytest.mark.rule("S2")
def test_two_seconds_are_too_long_to_wait_in_place() -> None:
    body = Attempts(failures=1)
    order = calling(body, retry=Retry(1, backoff_base=2, jitter=False))
    with Harness(workflows=[order]) as durable:
        body.durable = durable
        durable.start(order)
        durable.run()

        assert body.began == [(1, 0), (2, 2_000)]


@pytest.mark.rule("S2")
def test_a_short_wait_suspends_too_when_little_time_is_left() -> None:
    began: list[int] = []

    def slow(step: Step) -> None:
        began.append(len(durable.invocations))
        durable.clock.advance(40)  # of the 60 seconds of an invocation
        if step.attempt == 1:
            raise OSError("no line")

    order = calling(slow)
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, began) == ("completed", [1, 2])


@pytest.mark.rule("S1")
def test_the_wait_of_an_execution_has_its_own_jitter() -> None:
    waits = set()
    body = Attempts(failures=1)
    order = calling(body, retry=Retry(1, backoff_base=100, backoff_max=100))
    with Harness(workflows=[order]) as durable:
        body.durable = durable
        for name in ("one", "two", "three"):
            before = durable.clock.now()
            durable.start(order, execution_id=name)
            durable.run()
            waits.add((durable.clock.now() - before) / 1000)

    assert len(waits) == 3
    assert all(50 <= wait <= 101 for wait in waits)


@pytest.mark.rule("S1")
def test_a_delay_of_the_user_s_own_sees_attempt_and_error() -> None:
    asked: list[tuple[int, ErrorInfo]] = []

    def delay(attempt: int, error: ErrorInfo) -> timedelta:
        asked.append((attempt, error))
        return timedelta(minutes=attempt)

    body = Attempts(failures=2)
    order = calling(body, retry=Retry(2, delay=delay))
    with Harness(workflows=[order]) as durable:
        body.durable = durable
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", 3)
        assert asked == [(1, NO_LINE), (2, NO_LINE)]
        assert [since for _, since in body.began] == [0, 60_000, 180_000]


@pytest.mark.rule("S1")
@pytest.mark.parametrize(
    ("delay", "error"),
    [
        (lambda attempt, error: {}[attempt], "KeyError: 1"),
        (lambda attempt, error: -5, "InvalidCall: what Retry's delay returned is negative: -5"),
        (lambda attempt, error: sys.exit(3), "SystemExit: 3"),
        (lambda attempt: 5, "TypeError: "),
    ],
)
def test_a_delay_that_raises_fails_the_step_for_good_with_the_step_s_own_error(delay: Any, error: str) -> None:
    failures: list[StepFailed] = []
    body = Attempts(failures=9)

    @workflow
    def order(ctx: Context) -> None:
        try:
            ctx.step("call", body, retry=Retry(5, delay=delay))
        except StepFailed as failed:
            failures.append(failed)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        body.durable = durable
        execution = durable.start(order)
        durable.run()

        (failed,) = failures
        assert (failed.kind, failed.attempts, failed.error.type) == ("critical", 1, "OSError")
        assert failed.error.message.startswith(f"no line (Retry's delay raised {error}")
        assert failed.error.details["retry"].startswith(error)
        assert (execution.status, len(body.began)) == ("completed", 1)


@pytest.mark.rule("S3")
@pytest.mark.parametrize(
    ("error", "kind", "attempts"),
    [
        (TerminalError("closed account"), "critical", 1),
        (CodecError("no such class"), "critical", 1),
        (InvalidCall("not like that"), "critical", 1),
        (RollbackError("fraud"), "rollback", 1),
        (OSError("no line"), "exhausted", 3),
        (SystemExit(2), "exhausted", 3),
        (ValueError("a bug"), "exhausted", 3),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_the_kind_of_a_failure_says_why_no_attempt_follows(error: BaseException, kind: str, attempts: int) -> None:
    undone: list[str] = []
    bodies: list[int] = []

    def fail(step: Step) -> None:
        bodies.append(step.attempt)
        raise error

    order = calling(fail, retry=Retry(2), rollback=lambda undo: undone.append(undo.status))
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, bodies, undone) == ("failed", list(range(1, attempts + 1)), ["failed"])
        assert execution.error == ErrorInfo(
            type(error).__name__, str(error), {**vars(error), "step": "call", "kind": kind, "attempts": attempts}
        )
