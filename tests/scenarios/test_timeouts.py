"""`timeout` bounds one attempt, and a late body never overlaps what follows it. These tests take real time."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from durable import Context, Retry, Step, StepFailed, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("S4")


def spin(step: Step) -> None:
    """Works on and on, and can be told to end at any moment."""
    while True:
        time.sleep(0.005)


def timing(body: Any, **options: Any) -> Any:
    @workflow
    def order(ctx: Context) -> list[Any]:
        try:
            return ["returned", ctx.step("call", body, **options)]
        except StepFailed as error:
            return [error.kind, error.attempts, error.error.type, error.error.message]

    return order


def test_an_attempt_that_runs_too_long_is_ended_and_not_repeated() -> None:
    order = timing(spin, timeout=0.2)
    with Harness(workflows=[order]) as durable:
        began = time.perf_counter()
        execution = durable.start(order)
        durable.run()

        message = "step 'call' ran longer than its 0.2 seconds (attempt 1)"
        assert execution.output == ["timeout", 1, "AttemptTimeout", message]
        assert durable.faults.bodies == ["call"]
        assert time.perf_counter() - began < 5


def test_an_attempt_that_ended_in_time_is_not_touched() -> None:
    order = timing(lambda step: "in time", timeout=30)
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == ["returned", "in time"]


def test_the_body_is_told_by_an_exception_that_except_exception_does_not_catch() -> None:
    caught: list[str] = []
    cleaned: list[str] = []

    def careful(step: Step) -> None:
        try:
            spin(step)
        except Exception as error:
            caught.append(type(error).__name__)
        except BaseException as error:
            cleaned.append(type(error).__name__)
            raise

    order = timing(careful, timeout=0.2)
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.output[0], caught, cleaned) == ("timeout", [], ["AttemptTimedOut"])


def test_a_body_that_answers_the_exception_with_a_result_has_timed_out_all_the_same() -> None:
    def stubborn(step: Step) -> str:
        try:
            spin(step)
        except BaseException:
            return "late"
        return "in time"

    order = timing(stubborn, timeout=0.2)
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output[0] == "timeout"


@pytest.mark.rule("S3")
def test_on_timeout_repeats_the_attempt() -> None:
    def slow_once(step: Step) -> int:
        if step.attempt == 1:
            spin(step)
        return step.attempt

    order = timing(slow_once, timeout=0.2, retry=Retry(1, on_timeout=True))
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == ["returned", 2]


@pytest.mark.rule("S3")
def test_attempts_that_all_timed_out_end_as_a_timeout() -> None:
    order = timing(spin, timeout=0.1, retry=Retry(1, on_timeout=True))
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output[:2] == ["timeout", 2]


def test_a_body_sees_how_long_it_may_still_run() -> None:
    seen: dict[str, float] = {}

    def look(step: Step) -> None:
        seen[step.name] = step.remaining().total_seconds()

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("bounded", look, timeout=5)
        ctx.step("unbounded", look)
        ctx.step("longer than the invocation", look, timeout=3600)

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

    assert 4.5 < seen["bounded"] <= 5
    assert 56.5 < seen["unbounded"] <= 57  # of 60 seconds; 3 are for ending the body and for recording
    assert 56.5 < seen["longer than the invocation"] <= 57


def test_an_attempt_ends_in_time_to_be_recorded_before_the_deadline_of_the_function() -> None:
    order = timing(spin)
    with Harness(workflows=[order]) as durable:
        durable.faults.after(
            1, lambda: durable.clock.advance(60 - 3 - 0.2), operation="UpdateItem", by="Worker"
        )  # the claim took long
        execution = durable.start(order)
        durable.deliver_once()

        (invocation,) = durable.invocations
        assert (invocation.failed, durable.clock.now() <= invocation.deadline) == (False, True)
        (entry,) = execution.history
        assert (entry.status, entry.error.type) == ("retrying", "AttemptTimeout")  # in an invocation with all its time


@pytest.mark.parametrize("retries", [0, 1])
def test_a_body_that_can_not_be_ended_goes_down_with_its_process_before_anything_else_runs(retries: int) -> None:
    running = threading.Semaphore(0)
    released = threading.Event()
    began: list[tuple[str, int, bool]] = []

    def deaf(step: Step) -> None:
        began.append((step.name, step.attempt, durable.clock.now() >= lease_over))
        if step.attempt > 1:
            return
        while not released.is_set():
            try:
                time.sleep(0.01)
            except BaseException:
                continue
        running.release()

    @workflow
    def order(ctx: Context) -> None:
        ctx.step(
            "deaf",
            deaf,
            timeout=0.1,
            retry=Retry(retries, on_timeout=True),
            rollback=lambda undo: began.append(("undo", undo.attempt, durable.clock.now() >= lease_over)),
        )

    lease_over = 0
    try:
        with Harness(workflows=[order]) as durable:
            lease_over = durable.clock.now() + 60_000  # the deadline of the first invocation
            execution = durable.start(order)
            durable.deliver_once()
            (invocation,) = durable.invocations
            assert (invocation.died, execution.status) == (True, "running")
            assert [entry.error.type for entry in execution.history] == ["AttemptTimeout"]

            durable.run()
            following = ("deaf", 2, True) if retries else ("undo", 1, True)
            assert began == [("deaf", 1, False), following]
            assert execution.status == ("completed" if retries else "failed")
    finally:
        released.set()
        assert running.acquire(timeout=5)  # the body has ended
