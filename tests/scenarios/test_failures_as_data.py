"""`try_step`: a failure is returned, and catching it undoes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from durable import (
    Context,
    ErrorInfo,
    Failure,
    InvalidCall,
    Retry,
    RollbackError,
    Step,
    StepFailed,
    Success,
    TerminalError,
    Undo,
    workflow,
)
from durable.testing import Harness

NO_CARD = ErrorInfo("TerminalError", "no card")


def ok(step: Step) -> str:
    return "paid"


def critical(step: Step) -> str:
    raise TerminalError("no card")


def exhausted(step: Step) -> str:
    raise OSError("no line")


def rollback(step: Step) -> str:
    raise RollbackError("fraud")


def told(result: Success[str] | Failure) -> str:
    match result:
        case Success(value):
            return f"success {value}"
        case Failure("critical", error):
            return f"critical {error.message}"
        case Failure(kind, error):
            return f"{kind} {error.message}"


@pytest.mark.rule("F1")
def test_a_result_is_a_success_or_a_failure_that_says_all_of_it() -> None:
    seen: list[Any] = []

    @workflow
    def order(ctx: Context) -> None:
        seen.append(ctx.try_step("ok", ok))
        seen.append(ctx.try_step("critical", critical))
        seen.append(ctx.try_step("exhausted", exhausted, retry=Retry(2)))

    with Harness(workflows=[order], steps_per_invocation=9) as durable:
        durable.start(order)
        durable.run()

    assert seen == [
        Success("paid"),
        Failure("critical", "step", "critical", 1, NO_CARD),
        Failure("exhausted", "step", "exhausted", 3, ErrorInfo("OSError", "no line")),
    ]
    assert [told(result) for result in seen] == ["success paid", "critical no card", "exhausted no line"]


@pytest.mark.rule("F1")
def test_both_have_a_value_and_a_failure_and_the_impossible_one_raises() -> None:
    success: Any = Success(7)
    failure: Any = Failure("critical", "step", "charge", 1, NO_CARD)

    assert (success.ok, success.value) == (True, 7)
    assert (failure.ok, failure.failure.error.message) == (False, "no card")
    with pytest.raises(AttributeError, match=r"this is a Success: it has a \.value and no \.failure"):
        _ = success.failure
    with pytest.raises(StepFailed) as raised:
        _ = failure.value
    assert (raised.value.kind, raised.value.step, raised.value.attempts, raised.value.error) == (
        "critical",
        "charge",
        1,
        NO_CARD,
    )
    assert (repr(success), repr(failure)) == (
        "Success(7)",
        "Failure(kind='critical', step='charge', attempts=1, error=TerminalError: no card)",
    )


@pytest.mark.rule("F2")
def test_critical_timeout_and_exhausted_are_caught_by_default() -> None:
    def slow(step: Step) -> str:
        raise StepFailed("timeout", "elsewhere", 1, ErrorInfo("AttemptTimeout", "too slow"))

    @workflow
    def order(ctx: Context) -> list[str]:
        return [
            told(ctx.try_step("a", critical)),
            told(ctx.try_step("b", exhausted, retry=Retry(0))),
            told(ctx.try_step("c", slow)),
        ]

    with Harness(workflows=[order], steps_per_invocation=9) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == ["critical no card", "exhausted no line", "timeout too slow"]


@pytest.mark.rule("F2", "S3")
def test_a_demand_to_roll_back_is_not_caught_unless_it_is_asked_for() -> None:
    undone: list[str] = []

    @workflow
    def caught(ctx: Context) -> str:
        return told(ctx.try_step("charge", rollback, catch=["rollback"]))

    @workflow
    def uncaught(ctx: Context) -> str:
        ctx.step("reserve", ok, rollback=lambda undo: undone.append(undo.cause.message))
        return told(ctx.try_step("charge", rollback))

    with Harness(workflows=[caught, uncaught]) as durable:
        first, second = durable.start(caught), durable.start(uncaught)
        durable.run()

        assert (first.status, first.output) == ("completed", "rollback fraud")
        assert (second.status, second.rollback.outcome, undone) == ("failed", "completed", ["fraud"])


@pytest.mark.rule("F2")
@pytest.mark.parametrize("catch", [["timeout"], ["rollback"], []])
def test_the_kinds_to_catch_replace_the_default_ones(catch: list[Any]) -> None:
    caught: list[StepFailed] = []

    @workflow
    def order(ctx: Context) -> None:
        try:
            ctx.try_step("charge", critical, catch=catch)
        except StepFailed as error:
            caught.append(error)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        (error,) = caught
        assert (execution.status, error.kind, error.error) == ("completed", "critical", NO_CARD)


@pytest.mark.rule("F2")
@pytest.mark.parametrize("catch", [["fatal"], "critical", ["critical", "retry"]])
def test_a_kind_that_does_not_exist_is_refused_at_the_call(catch: Any) -> None:
    raised: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        try:
            ctx.try_step("charge", ok, catch=catch)
        except InvalidCall as error:
            raised.append(str(error))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        (message,) = raised
        assert message.startswith(f"catch={catch!r}: the kinds are critical, exhausted, rollback, timeout")
        assert (execution.status, durable.faults.bodies) == ("completed", [])


@pytest.mark.rule("F3")
def test_neither_a_wait_nor_a_backoff_nor_a_crash_is_a_failure_to_catch() -> None:
    caught: list[Any] = []

    def flaky(step: Step) -> str:
        if step.attempt < 3:
            raise OSError("no line")
        return f"attempt {step.attempt}"

    @workflow
    def order(ctx: Context) -> str:
        try:
            ctx.sleep("pause", 60)
            result = ctx.try_step("flaky", flaky, retry=Retry(5, backoff_base=60))
            if not result.ok:
                caught.append(result)
            return result.value
        except Exception as error:
            caught.append(error)
            raise

    with Harness(workflows=[order]) as durable:
        durable.faults.in_body(1, durable.faults.die)
        durable.faults.before(4, durable.faults.refuse("ThrottlingException"), by="Worker", times=3)
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output, caught) == ("completed", "attempt 3", [])


@pytest.mark.rule("F3", "D6")
def test_a_divergence_is_not_a_failure_to_catch() -> None:
    caught: list[Any] = []
    argument = iter("ab")

    @workflow
    def order(ctx: Context) -> None:
        try:
            caught.append(ctx.try_step("charge", lambda step, card: card, next(argument)))
        except Exception as error:
            caught.append(error)
        ctx.sleep("pause", 60)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, caught) == ("diverged", [])


@pytest.mark.rule("F6", "R2")
def test_catching_undoes_nothing_and_an_execution_that_ends_well_rolls_nothing_back() -> None:
    undone: list[str] = []

    def reserve(step: Step) -> str:
        step.state["reserved"] = True
        return "reserved"

    def fail(step: Step) -> str:
        step.state["tried"] = step.state.get("tried", 0) + 1
        raise OSError("no line")

    @workflow(state=dict)
    def order(ctx: Context) -> str:
        ctx.step("reserve", reserve, rollback=lambda undo: undone.append("reserve"))
        result = ctx.try_step("charge", fail, retry=Retry(1), rollback=lambda undo: undone.append("charge"))
        return told(result)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", "exhausted no line")
        assert execution.state == {"reserved": True, "tried": 2}
        assert (execution.rollback.outcome, undone) == ("none", [])


@pytest.mark.rule("F6")
def test_a_failure_that_was_caught_is_still_rolled_back_when_the_execution_fails_later() -> None:
    undone: list[tuple[str, str, bool, str | None]] = []

    def note(undo: Undo) -> None:
        undone.append((undo.name, undo.status, undo.completed, undo.output))

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("reserve", ok, rollback=note)
        ctx.try_step("charge", critical, rollback=note)
        raise ValueError("later")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error) == ("failed", ErrorInfo("ValueError", "later"))
        assert undone == [("charge", "failed", False, None), ("reserve", "completed", True, "paid")]
