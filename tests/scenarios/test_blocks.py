"""A block is a named scope: a terminal failure inside it is data, a bug of its own code is a bug."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from durable import (
    Break,
    Context,
    Continue,
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
    WrongThread,
    workflow,
)
from durable.testing import Harness

pytestmark = pytest.mark.rule("F5")

undone: list[str] = []


def critical(step: Step) -> str:
    raise TerminalError("no card")


def exhausted(step: Step) -> str:
    raise OSError("no line")


def timed_out(step: Step) -> str:
    raise StepFailed("timeout", "elsewhere", 1, ErrorInfo("AttemptTimeout", "too slow"))


def demands_rollback(step: Step) -> str:
    raise RollbackError("fraud")


def undo(undo: Undo) -> None:
    undone.append(undo.path)


def test_a_block_returns_what_its_function_returns_and_its_steps_stand_in_its_scope() -> None:
    seen: list[Success[dict[str, str]] | Failure] = []

    def flow(ctx: Context, order: str, card: str) -> dict[str, str]:
        return {
            "authorized": ctx.step("authorize", lambda step: f"{card} for {order}"),
            "captured": ctx.step("capture", lambda step: step.path),
        }

    @workflow
    def order(ctx: Context) -> None:
        seen.append(ctx.try_block("flow", flow, "order-1", "4111"))
        ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert seen == [Success({"authorized": "4111 for order-1", "captured": "flow/capture"})] * 2
        assert [entry.path for entry in execution.history] == ["flow/authorize", "flow/capture", "pause"]


def test_a_failure_names_its_step_and_is_the_same_on_every_replay() -> None:
    seen: list[Success[str] | Failure] = []

    def flow(ctx: Context) -> str:
        ctx.step("authorize", lambda step: None)
        return ctx.step("capture", critical)

    @workflow
    def order(ctx: Context) -> None:
        seen.append(ctx.try_block("flow", flow))
        ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        failure = Failure("critical", "step", "flow/capture", 1, ErrorInfo("TerminalError", "no card"))
        assert (execution.status, seen) == ("completed", [failure, failure])
        assert durable.faults.bodies == ["flow/authorize", "flow/capture"]


@pytest.mark.parametrize(
    ("body", "catch", "caught"),
    [
        (critical, None, "critical"),
        (exhausted, None, "exhausted"),
        (timed_out, None, "timeout"),
        (demands_rollback, None, None),
        (demands_rollback, ["rollback"], "rollback"),
        (critical, ["timeout", "exhausted"], None),
        (critical, [], None),
    ],
)
def test_the_kinds_of_a_step_are_caught_as_by_try_step(
    body: Callable[[Step], str], catch: list[Any] | None, caught: str | None
) -> None:
    @workflow
    def order(ctx: Context) -> str:
        options: dict[str, Any] = {} if catch is None else {"catch": catch}
        result = ctx.try_block("flow", lambda ctx: ctx.step("charge", body, retry=Retry(0)), **options)
        return f"{result.failure.kind} of a {result.failure.source}"

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.status == ("failed" if caught is None else "completed")
        if caught is not None:
            assert execution.output == f"{caught} of a step"


def test_a_demand_to_roll_back_by_the_block_s_own_code_is_caught_when_it_is_asked_for() -> None:
    def flow(ctx: Context) -> str:
        raise RollbackError("fraud")

    @workflow
    def caught(ctx: Context) -> bool:
        return ctx.try_block("flow", flow, catch=["rollback"]) == Failure(
            "rollback", "block", "flow", 0, ErrorInfo("RollbackError", "fraud")
        )

    @workflow
    def uncaught(ctx: Context) -> None:
        ctx.try_block("flow", flow)

    with Harness(workflows=[caught, uncaught]) as durable:
        first, second = durable.start(caught), durable.start(uncaught)
        durable.run()

        assert (first.output, second.error) == (True, ErrorInfo("RollbackError", "fraud"))


@pytest.mark.rule("R6", "R17")
def test_an_error_of_the_block_s_own_code_is_raised_as_it_is_and_rolls_back_what_the_block_did() -> None:
    undone.clear()

    def flow(ctx: Context) -> None:
        ctx.step("reserve", lambda step: None, rollback=undo)
        raise LookupError("no such customer")

    @workflow
    def order(ctx: Context) -> None:
        try:
            ctx.try_block("flow", flow)
        except LookupError as error:
            raise ValueError("seen by the workflow") from error

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error) == ("failed", ErrorInfo("ValueError", "seen by the workflow"))
        assert undone == ["flow/reserve"]


@pytest.mark.rule("F3")
def test_a_wait_inside_a_block_is_no_failure() -> None:
    def flaky(step: Step) -> str:
        if step.attempt == 1:
            raise OSError("no line")
        return f"attempt {step.attempt}"

    def flow(ctx: Context) -> list[str]:
        ctx.sleep("pause", 60)
        text = ctx.queue.next("wait", "texts", body=str).body
        return [text, ctx.step("flaky", flaky, retry=Retry(1, backoff_base=60))]

    @workflow
    def order(ctx: Context) -> list[str]:
        return ctx.try_block("flow", flow).value

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()
        execution.send("texts", "a text")
        durable.run()

        assert (execution.status, execution.output) == ("completed", ["a text", "attempt 2"])


@pytest.mark.rule("F6", "R2", "R5", "R6")
@pytest.mark.parametrize("fails_later", [False, True])
def test_catching_undoes_nothing_and_a_later_failure_undoes_the_block_too(fails_later: bool) -> None:
    undone.clear()

    def flow(ctx: Context) -> None:
        ctx.step("authorize", lambda step: step.state.append("authorized"), rollback=undo)
        ctx.step("capture", critical, rollback=undo)

    @workflow(state=list)
    def order(ctx: Context) -> str:
        ctx.step("reserve", lambda step: None, rollback=undo)
        kind = ctx.try_block("flow", flow).failure.kind
        ctx.step("note", lambda step: None, rollback=undo)
        if fails_later:
            raise ValueError("later")
        return kind

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.state == ["authorized"]
        if fails_later:
            assert (execution.status, undone) == ("failed", ["note", "flow/capture", "flow/authorize", "reserve"])
        else:
            assert (execution.status, execution.output, undone) == ("completed", "critical", [])


def test_the_innermost_block_that_catches_the_kind_has_the_failure() -> None:
    def inner(ctx: Context) -> str:
        return ctx.step("charge", critical)

    def outer(ctx: Context, catch: list[Any]) -> str:
        failure = ctx.try_block("inner", inner, catch=catch).failure
        return f"inner: {failure.step}"

    @workflow
    def order(ctx: Context) -> list[str]:
        first = ctx.try_block("first", outer, ["critical"])
        second = ctx.try_block("second", outer, ["timeout"])
        return [first.value, second.failure.step]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == ["inner: first/inner/charge", "second/inner/charge"]


@pytest.mark.rule("D5")
def test_a_repeated_block_is_a_scope_of_its_own() -> None:
    @workflow
    def order(ctx: Context) -> list[str]:
        return [ctx.try_block("flow", lambda ctx: ctx.step("a", lambda step: step.path)).value for _ in range(3)]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == ["flow/a", "flow#2/a", "flow#3/a"]


@pytest.mark.rule("D11")
def test_a_block_s_context_is_of_no_use_after_the_block() -> None:
    kept: list[Context] = []
    raised: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        ctx.try_block("flow", kept.append)
        try:
            kept[-1].step("late", lambda step: None)
        except WrongThread as error:
            raised.append(str(error))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, durable.faults.bodies) == ("completed", [])
        assert raised[0].startswith("the context of 'flow' was used after its scope had ended")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ctx: ctx.try_block("flow", "charge"), "block 'flow': the function is not callable: 'charge'"),
        (lambda ctx: ctx.try_block("flow", lambda ctx: None, catch=["fatal"]), "catch=['fatal']: the kinds are"),
        (lambda ctx: ctx.try_block("flow", lambda ctx: None, catch="critical"), "write catch=['exhausted']"),
    ],
)
def test_a_block_that_can_not_be_is_refused_at_the_call(call: Callable[[Context], Any], message: str) -> None:
    raised: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        try:
            call(ctx)
        except InvalidCall as error:
            raised.append(str(error))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, message in raised[0]) == ("completed", True)


@pytest.mark.rule("L5", "D6")
@pytest.mark.parametrize(("prune_every", "keep"), [(1, 0), (20, 0), (2, 2), (20, 9)])
def test_a_block_replays_after_a_loop_and_a_block_inside_it_are_over(prune_every: int, keep: int) -> None:
    def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.try_step("deep", critical)
        return Break(number) if number == 2 else Continue(number + 1)

    def flow(ctx: Context) -> list[Any]:
        counted = ctx.loop("turns", turn, state=0, prune_every=prune_every, keep=keep)
        handled = ctx.try_block("inner", lambda ctx: ctx.step("charge", critical)).failure.step
        ctx.sleep("pause", 60)
        after = ctx.step("after", lambda step: step.path)
        ctx.sleep("pause", 60)
        return [counted, handled, after]

    @workflow
    def order(ctx: Context) -> list[Any]:
        return [ctx.try_block("flow", flow).value for _ in range(2)]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == [[2, f"{flow}/inner/charge", f"{flow}/after"] for flow in ("flow", "flow#2")]
        assert len(durable.faults.bodies) == len(set(durable.faults.bodies)) == 2 * (3 + 1 + 1)
