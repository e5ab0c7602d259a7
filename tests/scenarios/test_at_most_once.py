"""A step of at most one run: its start is recorded first, and an interrupted run is a failed one."""

from __future__ import annotations

import pytest

from durable import Context, ErrorInfo, Retry, Step, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("S5")


def test_the_start_is_recorded_before_the_body() -> None:
    seen: list[tuple[str, str]] = []

    def look(step: Step) -> None:
        seen.extend((entry.path, entry.status) for entry in durable.get("one").history)

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("plain", look)
        ctx.step("once", look, semantics="at_most_once")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order, execution_id="one")
        durable.run()

        assert seen == [("plain", "completed"), ("once", "unfinished")]
        assert [(entry.path, entry.status, entry.attempts) for entry in execution.history] == [
            ("plain", "completed", 1),
            ("once", "completed", 1),
        ]


@pytest.mark.parametrize("moment", ["in the body", "before the record"])
def test_an_interrupted_run_fails_the_step_and_no_second_one_follows(moment: str) -> None:
    undone: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        ctx.step(
            "charge",
            lambda step: "charged",
            semantics="at_most_once",
            rollback=lambda undo: undone.append(undo.status),
        )

    with Harness(workflows=[order]) as durable:
        if moment == "in the body":
            durable.faults.in_body(1, durable.faults.die)
        else:
            durable.faults.before(3, durable.faults.die, operation="UpdateItem", by="Worker")
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.rollback.outcome, undone) == ("failed", "completed", ["failed"])
        assert (execution.error.type, execution.error.details) == (
            "ProcessCrashed",
            {"step": "charge", "kind": "exhausted", "attempts": 1},
        )
        assert durable.faults.bodies == ["charge", "charge"]  # the body, and its rollback


def test_a_crash_between_the_mark_and_the_body_is_one_too_for_nobody_can_tell() -> None:
    bodies: list[int] = []

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", lambda step: bodies.append(step.attempt), semantics="at_most_once")

    with Harness(workflows=[order]) as durable:
        claim_and_mark = 2
        durable.faults.after(claim_and_mark, durable.faults.die, operation="UpdateItem", by="Worker")
        execution = durable.start(order)
        durable.run()

        assert (execution.status, bodies) == ("failed", [])


def test_a_failure_is_not_retried_unless_it_is_asked_for() -> None:
    bodies: list[int] = []

    def decline(step: Step) -> None:
        bodies.append(step.attempt)
        raise OSError("no line")

    @workflow
    def order(ctx: Context) -> list[int]:
        first = ctx.try_step("charge", decline, semantics="at_most_once")
        second = ctx.try_step("charge", decline, semantics="at_most_once", retry=Retry(2))
        return [first.failure.attempts, second.failure.attempts]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.output, bodies) == ([1, 3], [1, 1, 2, 3])


def test_with_retries_an_interrupted_run_is_one_of_the_attempts() -> None:
    @workflow
    def order(ctx: Context) -> int:
        return ctx.step("charge", lambda step: step.attempt, semantics="at_most_once", retry=Retry(1))

    @workflow
    def hopeless(ctx: Context) -> ErrorInfo:
        return ctx.try_step(
            "die", lambda step: durable.faults.die(), semantics="at_most_once", retry=Retry(2)
        ).failure.error

    with Harness(workflows=[order, hopeless]) as durable:
        durable.faults.in_body(1, durable.faults.die)
        execution = durable.start(order)
        durable.run()
        assert (execution.output, durable.faults.bodies) == (2, ["charge", "charge"])

        failed = durable.start(hopeless)
        durable.run()
        assert (failed.output.type, durable.faults.bodies[2:]) == ("ProcessCrashed", ["die"] * 3)
