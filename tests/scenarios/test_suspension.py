"""A suspension passes through user code unseen; code that swallows it fails and says so."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from durable import Context, Retry, Step, StepFailed, workflow
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("D8")


def step(ctx: Context) -> None:
    ctx.step("wait", lambda step: None)


def sleep(ctx: Context) -> None:
    ctx.sleep("wait", 60)


def backoff(ctx: Context) -> None:
    ctx.step("wait", lambda step: {2: None}[step.attempt], retry=Retry(1, backoff_base=60))


@pytest.mark.parametrize("suspend", [step, sleep, backoff])
def test_except_exception_never_sees_it(suspend: Callable[[Context], None]) -> None:
    seen: list[Any] = []

    @workflow
    def order(ctx: Context) -> str:
        try:
            suspend(ctx)
        except Exception as error:
            seen.append(error)
        else:
            seen.append("went on")
        return "done"

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output, seen) == ("completed", "done", ["went on"])


def bare_except(ctx: Context, suspend: Callable[[Context], None]) -> str:
    try:
        suspend(ctx)
        answer = "done"
    except:
        answer = "a wrong success"
    return answer


def base_exception(ctx: Context, suspend: Callable[[Context], None]) -> str:
    try:
        suspend(ctx)
    except BaseException as error:
        return f"a wrong success after {error!r}"
    return "done"


def suppressed(ctx: Context, suspend: Callable[[Context], None]) -> str:
    with suppress(BaseException):
        suspend(ctx)
    return "a wrong success"


def return_in_finally(ctx: Context, suspend: Callable[[Context], None]) -> str:
    try:
        suspend(ctx)
    finally:
        return "a wrong success"


def another_error(ctx: Context, suspend: Callable[[Context], None]) -> str:
    try:
        suspend(ctx)
    except BaseException as error:
        raise ValueError("wrapped") from error
    return "done"


@pytest.mark.parametrize("suspend", [step, sleep, backoff])
@pytest.mark.parametrize("swallow", [bare_except, base_exception, suppressed, return_in_finally, another_error])
def test_code_that_swallows_it_fails_and_rolls_back(swallow: Any, suspend: Callable[[Context], None]) -> None:
    undone: list[str | None] = []

    def swallowing(ctx: Context) -> str:
        ctx.step("reserve", lambda step: "reserved", rollback=lambda undo: undone.append(undo.output))
        return swallow(ctx, suspend)

    code = Code(swallowing)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.error.type) == ("failed", "SuspensionSwallowed")
        assert "a bare `except` or `except BaseException` stands around a durable operation" in execution.error.message
        assert (execution.rollback.outcome, undone) == ("completed", ["reserved"])


def test_what_was_done_before_it_was_swallowed_is_recorded() -> None:
    def charge(step: Step) -> str:
        step.state["charged"] = True
        return "charged"

    undone: list[str | None] = []

    @workflow(state=dict)
    def order(ctx: Context) -> None:
        with suppress(BaseException):
            ctx.step("charge", charge, rollback=lambda undo: undone.append(undo.output))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.state, undone) == ("failed", {"charged": True}, ["charged"])


def test_finally_blocks_run_at_each_suspension_and_durable_work_in_them_waits_for_the_end() -> None:
    finally_ran: list[str] = []

    @workflow
    def order(ctx: Context) -> str:
        try:
            ctx.step("a", lambda step: None)
            ctx.sleep("pause", 60)
            return ctx.step("b", lambda step: "done")
        finally:
            finally_ran.append("plain")
            ctx.step("cleanup", lambda step: None)
            finally_ran.append("after cleanup")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", "done")
        assert durable.faults.bodies == ["a", "b", "cleanup"]
        assert finally_ran == ["plain"] * 4 + ["plain", "after cleanup"]  # a, pause, b, cleanup, and the end


def test_a_durable_operation_after_a_swallowed_suspension_suspends_again_and_nothing_goes_wrong() -> None:
    @workflow
    def order(ctx: Context) -> str:
        try:
            price = ctx.step("price", lambda step: 10)
        except BaseException:
            price = 0
        return ctx.step("charge", lambda step, amount: f"charged {amount}", price)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", "charged 10")
        assert durable.faults.bodies == ["price", "charge"]


def test_an_error_in_a_finally_block_at_a_suspension_is_told_from_one_of_the_step() -> None:
    seen: list[Any] = []

    @workflow
    def order(ctx: Context) -> None:
        try:
            try:
                ctx.sleep("pause", 60)
            finally:
                raise KeyError("in the finally block")
        except StepFailed as error:
            seen.append(error)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type, seen) == ("failed", "SuspensionSwallowed", [])
