"""A failure is recorded like a result: the same error on the first run and on each replay, and no body runs again."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

from durable import (
    Context,
    ErrorInfo,
    Failure,
    Retry,
    RollbackError,
    Step,
    StepFailed,
    TerminalError,
    Undo,
    workflow,
)
from durable.testing import Harness
from durable.testing.clock import START


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


def refuse(step: Step) -> None:
    raise TerminalError("no card")


def demand(step: Step) -> None:
    raise RollbackError("fraud")


def spin(step: Step) -> None:
    while True:
        time.sleep(0.005)


ALL: list[Any] = ["critical", "timeout", "exhausted", "rollback"]
ATTEMPTS = {"critical": 1, "rollback": 1, "exhausted": 3, "timeout": 1, "timeout again": 2}


@pytest.mark.rule("F4", "S3", "D2")
@pytest.mark.parametrize("steps", [1, 9])
def test_each_later_replay_sees_the_same_failures_and_waits_and_runs_for_none_of_them(steps: int) -> None:
    """Real ones: a body that refuses, that demands a rollback, that fails to the end, that runs out of its time."""
    replays: list[list[Any]] = []

    @workflow
    def order(ctx: Context) -> None:
        seen: list[Any] = []
        replays.append(seen)
        seen.append(ctx.try_step("critical", refuse, catch=ALL))
        seen.append(ctx.try_step("rollback", demand, catch=ALL))
        seen.append(ctx.try_step("exhausted", decline, catch=ALL, retry=Retry(2, jitter=False)))
        seen.append(ctx.try_step("timeout", spin, catch=ALL, timeout=0.1))
        seen.append(ctx.try_step("timeout again", spin, catch=ALL, timeout=0.1, retry=Retry(1, on_timeout=True)))
        for _ in range(3):
            ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        execution = durable.start(order)
        durable.run()

        last = replays[-1]
        assert execution.status == "completed"
        assert len(replays) == (9 if steps == 1 else 4)
        assert [seen == last[: len(seen)] for seen in replays] == [True] * len(replays)
        assert [(each.kind, each.step, each.attempts) for each in last] == [
            (name.partition(" ")[0], name, attempts) for name, attempts in ATTEMPTS.items()
        ]
        assert durable.faults.bodies == [name for name, attempts in ATTEMPTS.items() for _ in range(attempts)]
        ended = [entry.ended_at or START for entry in execution.history if entry.kind == "sleep"][-1]
        assert timedelta(seconds=180) <= ended - START < timedelta(seconds=185)  # attempts and sleeps, and nothing more


@pytest.mark.rule("F4", "R4", "R6")
def test_handled_failures_of_each_kind_are_rolled_back_in_their_places_when_the_execution_fails_later() -> None:
    undone: list[tuple[str, str, int]] = []

    def undo(undo: Undo[None]) -> None:
        undone.append((undo.name, undo.status, undo.forward_attempts))

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("before", lambda step: None, rollback=undo)
        ctx.try_step("critical", refuse, catch=ALL, rollback=undo)
        ctx.try_step("rollback", demand, catch=ALL, rollback=undo)
        ctx.try_step("exhausted", decline, catch=ALL, retry=Retry(2), rollback=undo)
        ctx.try_step("timeout", spin, catch=ALL, timeout=0.1, rollback=undo)
        ctx.step("after", lambda step: None, rollback=undo)
        raise ValueError("later")

    with Harness(workflows=[order], steps_per_invocation=3) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error) == ("failed", ErrorInfo("ValueError", "later"))
        assert undone == [
            ("after", "completed", 1),
            ("timeout", "failed", 1),
            ("exhausted", "failed", 3),
            ("rollback", "failed", 1),
            ("critical", "failed", 1),
            ("before", "completed", 1),
        ]
