"""A failure is recorded like a result: the same error on the first run and on each replay, and no body runs again."""

from __future__ import annotations

from typing import Any

import pytest

from durable import Context, ErrorInfo, Failure, Retry, Step, StepFailed, TerminalError, workflow
from durable.testing import Harness


class Declined(Exception):
    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code
        self.refundable = False
        self.hint = None
        self.answer = {"not": "a scalar"}
        self._private = "never stored"


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def decline(step: Step) -> None:
    raise Declined("not enough funds", 51)


DECLINED = ErrorInfo("Declined", "not enough funds", {"code": 51, "refundable": False, "hint": None})


@pytest.mark.rule("D4")
def test_a_failed_step_raises_the_same_error_on_the_first_run_and_on_replay() -> None:
    seen: list[tuple[Any, ...]] = []

    @workflow
    def order(ctx: Context) -> None:
        try:
            ctx.step("charge", decline, retry=Retry(1))
        except StepFailed as error:
            seen.append((type(error), error.kind, error.step, error.attempts, error.error, str(error), error.__cause__))
        ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        message = "step 'charge' failed (exhausted, attempts: 2): Declined: not enough funds"
        assert (execution.status, durable.faults.bodies) == ("completed", ["charge", "charge"])
        assert seen == [(StepFailed, "exhausted", "charge", 2, DECLINED, message, None)] * 2


@pytest.mark.rule("D4")
def test_the_raw_exception_is_never_what_the_workflow_catches() -> None:
    seen: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        try:
            ctx.step("charge", decline, retry=Retry(0))
        except Declined:
            seen.append("raw")
        except StepFailed:
            seen.append("wrapped")
        ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        durable.start(order)
        durable.run()

        assert seen == ["wrapped", "wrapped"]


@pytest.mark.rule("D4")
def test_an_uncaught_failure_is_the_execution_s_error_with_its_step() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", decline, retry=Retry(0))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        details = {**DECLINED.details, "step": "charge", "kind": "exhausted", "attempts": 1}
        assert (execution.status, execution.error) == ("failed", ErrorInfo("Declined", "not enough funds", details))


@pytest.mark.rule("D4")
def test_an_error_that_can_not_say_what_it_is_fails_its_step_all_the_same() -> None:
    def fail(step: Step) -> None:
        raise Unspeakable

    def shout(step: Step) -> None:
        raise TerminalError("x" * 100_000 + "\ud800")

    @workflow
    def order(ctx: Context) -> list[ErrorInfo]:
        return [
            ctx.try_step("unspeakable", fail, retry=Retry(0)).failure.error,
            ctx.try_step("shout", shout).failure.error,
        ]

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == [
            ErrorInfo("Unspeakable", "(str() of this Unspeakable fails)"),
            ErrorInfo("TerminalError", "x" * 2_000 + "…"),
        ]


@pytest.mark.rule("F4")
def test_a_handled_failure_is_recorded_and_its_body_never_runs_again() -> None:
    seen: list[Any] = []

    @workflow
    def order(ctx: Context) -> str:
        seen.append(ctx.try_step("charge", decline, retry=Retry(0)))
        ctx.sleep("pause", 60)
        return ctx.step("invoice", lambda step: "by invoice")

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", "by invoice")
        assert seen == [Failure("exhausted", "step", "charge", 1, DECLINED)] * 2
        assert durable.faults.bodies == ["charge", "invoice"]


@pytest.mark.rule("F4")
@pytest.mark.parametrize("kind", ["critical", "timeout", "exhausted", "rollback"])
def test_the_kind_of_a_handled_failure_is_recorded_too(kind: Any) -> None:
    seen: list[str] = []

    def fail(step: Step) -> None:
        raise StepFailed(kind, "elsewhere", 1, ErrorInfo("Error", "of that kind"))

    @workflow
    def order(ctx: Context) -> None:
        seen.append(ctx.try_step("a", fail, catch=["critical", "timeout", "exhausted", "rollback"]).failure.kind)
        ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        durable.start(order)
        durable.run()

        assert seen == [kind, kind]
