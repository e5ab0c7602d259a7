"""An error that raises while it is described fails its step as any error does, and flies through no code of the user's.

What can't be told of it is left out; it is recorded, the same on the first run and on every replay, and can be shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from durable import Context, Failure, Retry, Step, StepFailed, Undo
from durable.testing import Harness
from tests.scenarios.code import Code
from tests.scenarios.hostile import ERRORS

pytestmark = pytest.mark.rule("D14", "D4")

each_error = pytest.mark.parametrize("make", ERRORS.values(), ids=ERRORS.keys())
undone: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    undone.clear()


def reserve(step: Step) -> str:
    return step.path


def undo(undo: Undo[str]) -> None:
    undone.append(undo.path)


def strange(durable: Harness) -> list[str]:
    """Invocations that are not as they should be."""
    return [each.function for each in durable.invocations if each.failed or each.function == "DeadLetters"]


def shown(error: Any) -> tuple[bool, bool]:
    """Whether an error has a type that can be read, and whether all of it is small and plain."""
    text = json.dumps([error.type, error.message, dict(error.details)])
    return (isinstance(error.type, str) and error.type != "", len(text.encode()) < 100_000)


@each_error
@pytest.mark.rule("F1", "F4")
def test_a_step_that_raises_it_has_failed_the_same_at_every_replay(make: Callable[[], BaseException]) -> None:
    seen: list[Failure] = []

    def order(ctx: Context) -> str:
        def charge(step: Step) -> None:
            raise make()

        seen.append(ctx.try_step("charge", charge, retry=Retry(0)).failure)
        ctx.sleep("pause", 60)
        return ctx.step("report", lambda step: "done")

    code = Code(order)
    with Harness(workflows=[code.workflow], store="local") as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, durable.faults.bodies, strange(durable)) == ("completed", ["charge", "report"], [])
        assert {(each.kind, each.step, each.attempts) for each in seen} == {("exhausted", "charge", 1)}
        assert (all(each == seen[0] for each in seen), len(seen) > 1, shown(seen[0].error)) == (
            True,
            True,
            (True, True),
        )
        assert execution.history[0].error == seen[0].error


@each_error
@pytest.mark.rule("R3", "R11")
def test_a_workflow_that_raises_it_fails_and_is_rolled_back(make: Callable[[], BaseException]) -> None:
    def order(ctx: Context) -> None:
        ctx.step("reserve", reserve, rollback=undo)
        raise make()

    code = Code(order)
    with Harness(workflows=[code.workflow], store="local") as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.rollback.outcome, undone) == ("failed", "completed", ["reserve"])
        assert (strange(durable), shown(execution.error)) == ([], (True, True))


@each_error
@pytest.mark.rule("S3")
def test_an_attempt_that_raises_it_is_retried(make: Callable[[], BaseException]) -> None:
    def flaky(step: Step) -> int:
        if step.attempt == 1:
            raise make()
        return step.attempt

    code = Code(lambda ctx: ctx.step("flaky", flaky, retry=Retry(1, backoff_base=60)))
    with Harness(workflows=[code.workflow], store="local") as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.output, strange(durable)) == ("completed", 2, [])


@each_error
@pytest.mark.rule("R10")
def test_a_rollback_that_raises_it_has_failed(make: Callable[[], BaseException]) -> None:
    def fails(undo: Undo[str]) -> None:
        undone.append(undo.path)
        raise make()

    def order(ctx: Context) -> None:
        ctx.step("reserve", reserve, rollback=undo)
        ctx.step("charge", reserve, rollback=fails, rollback_retry=Retry(0))
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow], store="local") as durable:
        execution = durable.start(code.workflow)
        durable.run()

        rollback = execution.rollback
        assert (execution.status, execution.error.type, undone) == ("failed", "ValueError", ["charge"])
        assert (rollback.outcome, list(rollback.not_run), strange(durable)) == ("failed", ["reserve"], [])
        assert shown(rollback.error) == (True, True)


@each_error
@pytest.mark.rule("F5")
def test_a_step_failure_with_it_goes_through_a_block_and_out_of_the_workflow(
    make: Callable[[], BaseException],
) -> None:
    kinds: list[str] = []

    def order(ctx: Context) -> None:
        def charge(step: Step) -> None:
            raise make()

        try:
            ctx.try_block("block", lambda ctx: ctx.step("charge", charge, retry=Retry(0)), catch=["timeout"])
        except StepFailed as error:
            kinds.append(error.kind)
            raise

    code = Code(order)
    with Harness(workflows=[code.workflow], store="local") as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, kinds[0], strange(durable)) == ("failed", "exhausted", [])
        assert execution.error.details["step"] == "block/charge"
