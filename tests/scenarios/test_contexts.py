"""A context works in its own thread, in its own scope and outside of steps; elsewhere it is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from durable import Break, Context, Continue, ErrorInfo, NestedStep, Step, StepFailed, WrongThread, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("D11")

OPERATIONS: list[Callable[[Context], Any]] = [
    lambda ctx: ctx.step("inner", lambda step: None),
    lambda ctx: ctx.try_step("inner", lambda step: None),
    lambda ctx: ctx.sleep("inner", 60),
    lambda ctx: ctx.now(),
    lambda ctx: ctx.uuid(),
    lambda ctx: ctx.random(),
]
EACH = pytest.mark.parametrize("use", OPERATIONS, ids=["step", "try_step", "sleep", "now", "uuid", "random"])


@EACH
def test_a_durable_operation_inside_a_step_is_refused(use: Callable[[Context], Any]) -> None:
    failures: list[StepFailed] = []

    @workflow
    def order(ctx: Context) -> None:
        try:
            ctx.step("outer", lambda step: use(ctx))
        except StepFailed as error:
            failures.append(error)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        (error,) = failures
        assert (error.kind, error.attempts, error.error.type) == ("critical", 1, "NestedStep")
        assert "inside the body of step 'outer': a step can't hold another" in error.error.message
        assert (execution.status, durable.faults.bodies) == ("completed", ["outer"])


def test_a_body_may_catch_the_refusal_and_nothing_of_the_inner_step_is_left() -> None:
    def outer(step: Step, ctx: Context) -> str:
        try:
            return ctx.step("inner", lambda step: "inner")
        except NestedStep:
            return "outer"

    @workflow(drift="warn")
    def order(ctx: Context) -> str:
        return ctx.step("outer", outer, ctx)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.output, [entry.path for entry in execution.history]) == ("outer", ["outer"])


@EACH
def test_a_context_is_refused_in_another_thread(use: Callable[[Context], Any]) -> None:
    raised: list[BaseException] = []

    def elsewhere(ctx: Context) -> None:
        try:
            use(ctx)
        except BaseException as error:
            raised.append(error)

    @workflow
    def order(ctx: Context) -> str:
        thread = threading.Thread(target=elsewhere, args=(ctx,))
        thread.start()
        thread.join()
        return ctx.step("own", lambda step: "own thread")

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert [type(error) for error in raised] == [WrongThread] * len(raised)
        assert "from another thread than the workflow's: pass values to threads, not the context" in str(raised[0])
        assert (execution.output, durable.faults.bodies) == ("own thread", ["own"])


@EACH
def test_a_context_is_refused_once_its_execution_has_left_it(use: Callable[[Context], Any]) -> None:
    kept: list[Context] = []

    @workflow
    def keeping(ctx: Context) -> None:
        kept.append(ctx)

    @workflow
    def using(ctx: Context) -> None:
        use(kept[0])

    with Harness(workflows=[keeping, using]) as durable:
        durable.start(keeping)
        durable.run()
        execution = durable.start(using)
        durable.run()

        message = (
            "the context of 'the workflow' was used after its scope had ended: "
            "use the context that is passed to the function you are in"
        )
        assert (execution.status, execution.error) == ("failed", ErrorInfo("WrongThread", message))
        assert durable.faults.bodies == []


@EACH
def test_a_context_is_refused_once_its_execution_has_suspended(use: Callable[[Context], Any]) -> None:
    kept: list[Context] = []

    @workflow
    def keeping(ctx: Context) -> None:
        kept.append(ctx)
        ctx.sleep("pause", 3600)

    @workflow
    def using(ctx: Context) -> None:
        use(kept[0])

    with Harness(workflows=[keeping, using]) as durable:
        durable.start(keeping)
        durable.deliver_once()
        execution = durable.start(using)
        durable.deliver_once()

        assert (execution.status, execution.error.type) == ("failing", "WrongThread")


def test_a_context_is_refused_after_its_block_and_its_iteration() -> None:
    kept: list[Context] = []
    raised: list[str] = []

    def keep(ctx: Context) -> Break:
        kept.append(ctx)
        return Break()

    @workflow
    def order(ctx: Context) -> None:
        ctx.try_block("block", keep)
        ctx.loop("loop", keep)
        for inner in kept:
            try:
                inner.step("late", lambda step: None)
            except WrongThread as error:
                raised.append(str(error))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.status == "completed"
        assert [message.partition(" was used")[0] for message in raised] == [
            "the context of 'block'",
            "the context of 'loop[0]'",
        ]
        assert durable.faults.bodies == []


@EACH
def test_an_outer_context_is_refused_in_a_block_or_loop_and_works_again_after_it(use: Callable[[Context], Any]) -> None:
    raised: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        def inner(_: Context) -> Break:
            try:
                use(ctx)
            except WrongThread as error:
                raised.append(str(error))
            return Break()

        ctx.try_block("block", inner)
        ctx.loop("loop", lambda outer: (outer.try_block("block", inner), Break())[1])
        use(ctx)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        told = (
            "the context of 'the workflow' was used inside '{}', which has a context of its own: use the context that"
        )
        first, second = raised[:2]
        assert execution.status == "completed"
        assert first.startswith(told.format("block"))
        assert second.startswith(told.format("loop[0]/block"))


@pytest.mark.rule("L2", "L4")
@pytest.mark.parametrize("steps", [1, 50])
def test_a_loop_that_uses_the_outer_context_fails_before_it_could_skip_an_iteration(steps: int) -> None:
    @workflow
    def order(ctx: Context) -> None:
        def take(_: Context, number: int) -> Continue[int] | Break[None]:
            ctx.step("take", lambda step: number)  # named in the outer scope: a replay would count from 1 again
            return Continue(number + 1) if number < 5 else Break()

        ctx.loop("orders", take, state=0, prune_every=2)

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type, durable.faults.bodies) == ("failed", "WrongThread", [])
