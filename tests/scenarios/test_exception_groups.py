"""Failures in exception groups: a group that holds nothing but failures of steps is the first of them.

`except*` makes a group of what is raised in it, and code may gather several failures. As everywhere, the execution's error is the
original failure, with its step and kind, and try_block catches it. A group that holds other errors too is the code's own error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from durable import Context, ErrorInfo, Failure, Retry, RollbackError, Step, StepFailed, TerminalError, Undo
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("R17", "R11", "F5")

undone: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    undone.clear()


def reserve(step: Step) -> str:
    return step.path


def undo(undo: Undo[Any]) -> None:
    undone.append(undo.path)


class Declined(TerminalError):
    """A card that is not taken."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__("card declined")


def declined(step: Step) -> None:
    raise Declined(51)


def unreachable(step: Step) -> None:
    raise ConnectionError("no line")


def rolls_back(step: Step) -> None:
    raise RollbackError("give everything back")


def reraised(ctx: Context) -> None:
    """`except*` that handles another error."""
    try:
        ctx.step("charge", declined, rollback=undo)
    except* ValueError:
        ctx.step("never", reserve)


def handled_and_raised_again(ctx: Context) -> None:
    try:
        ctx.step("charge", declined, rollback=undo)
    except* StepFailed:
        ctx.step("report", reserve, rollback=undo)
        raise


def nested_twice(ctx: Context) -> None:
    try:
        try:
            ctx.step("charge", declined, rollback=undo)
        except* ValueError:
            pass
    except* KeyError:
        pass


def wrapped_by_hand(ctx: Context) -> None:
    try:
        ctx.step("charge", declined, rollback=undo)
    except StepFailed as error:
        raise BaseExceptionGroup("outer", [ExceptionGroup("inner", [error])]) from None


def gathered(ctx: Context) -> None:
    """Two failures: the first is the original one."""
    failures: list[Exception] = []
    for name, body in (("charge", declined), ("ship", unreachable)):
        try:
            ctx.step(name, body, rollback=undo, retry=Retry(0))
        except StepFailed as error:
            failures.append(error)
    raise ExceptionGroup("the order failed", failures)


DECLINED = ErrorInfo("Declined", "card declined", {"code": 51, "step": "charge", "kind": "critical", "attempts": 1})
each_group = pytest.mark.parametrize(
    "raises", [reraised, handled_and_raised_again, nested_twice, wrapped_by_hand, gathered]
)
UNDONE: dict[Any, list[str]] = {
    handled_and_raised_again: ["report", "charge", "reserve"],
    gathered: ["ship", "charge", "reserve"],
}


@each_group
@pytest.mark.parametrize("steps", [1, 20])
def test_the_original_failure_is_the_error_of_the_execution(raises: Callable[[Context], None], steps: int) -> None:
    def order(ctx: Context) -> None:
        ctx.step("reserve", reserve, rollback=undo)
        raises(ctx)

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.error, execution.rollback.outcome) == ("failed", DECLINED, "completed")
        assert undone == UNDONE.get(raises, ["charge", "reserve"])


@each_group
@pytest.mark.rule("F4")
@pytest.mark.parametrize("catch", [None, ["critical"]])
def test_try_block_catches_it_as_the_failure_that_it_is(raises: Callable[[Context], None], catch: Any) -> None:
    seen: list[Failure] = []
    options = {} if catch is None else {"catch": catch}

    def order(ctx: Context) -> None:
        failure = ctx.try_block("block", raises, **options).failure
        ctx.sleep("pause", 60)
        seen.append(failure)

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, undone) == ("completed", [])
        assert seen == [
            Failure("critical", "step", "block/charge", 1, ErrorInfo("Declined", "card declined", {"code": 51}))
        ]


@each_group
def test_a_block_that_does_not_catch_its_kind_lets_it_pass(raises: Callable[[Context], None]) -> None:
    def order(ctx: Context) -> None:
        ctx.try_block("block", raises, catch=["timeout"])

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.error.type, execution.error.details["step"]) == (
            "failed",
            "Declined",
            "block/charge",
        )


@pytest.mark.rule("F2", "S3")
def test_a_failure_that_demands_a_rollback_decides_over_the_others() -> None:
    """As in a body: a block catches a group with one only where `rollback` is asked for."""

    def several(ctx: Context) -> None:
        failures: list[Exception] = []
        for name, body in (("charge", declined), ("ship", rolls_back)):
            try:
                ctx.step(name, body, rollback=undo)
            except StepFailed as error:
                failures.append(error)
        raise ExceptionGroup("the order failed", failures)

    kinds: list[str] = []

    def order(ctx: Context, catch: list[Any]) -> None:
        kinds.append(ctx.try_block("block", several, catch=catch).failure.kind)

    for catch, status, caught in (
        (["critical", "timeout", "exhausted"], "failed", []),
        (["critical", "rollback"], "completed", ["rollback"]),
    ):
        kinds.clear()
        code = Code(lambda ctx, catch=catch: order(ctx, catch))
        with Harness(workflows=[code.workflow]) as durable:
            execution = durable.start(code.workflow)
            durable.run()
            assert (execution.status, kinds) == (status, caught)
            if status == "failed":
                assert (execution.error.type, execution.error.details["step"]) == ("RollbackError", "block/ship")


@pytest.mark.parametrize("other", [KeyError("a bug"), type("Panic", (BaseException,), {})("gave up")])
def test_a_group_with_another_error_is_the_error_of_the_code(other: BaseException) -> None:
    """A bug is not caught with a failure beside it: the block raises the group."""

    def mixed(ctx: Context) -> None:
        try:
            ctx.step("charge", declined, rollback=undo)
        except StepFailed as error:
            raise BaseExceptionGroup("the order failed", [error, other]) from None

    def order(ctx: Context) -> None:
        ctx.step("reserve", reserve, rollback=undo)
        ctx.try_block("block", mixed)
        ctx.step("never", reserve)

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert (undone, durable.faults.bodies.count("never")) == (["block/charge", "reserve"], 0)
        assert execution.error.type in ("ExceptionGroup", "BaseExceptionGroup")


def test_except_star_handles_the_failure_of_a_step() -> None:
    def order(ctx: Context) -> str:
        answer = "charged"
        try:
            ctx.step("charge", declined, rollback=undo)
        except* StepFailed as group:
            (error,) = group.exceptions
            assert isinstance(error, StepFailed)
            told = f"{error.kind}: {error.error.message}"
            answer = ctx.step("report", lambda step: told)
        return answer

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.output, undone) == ("completed", "critical: card declined", [])


@pytest.mark.rule("D8")
@pytest.mark.parametrize("steps", [1, 20])
def test_except_star_does_not_swallow_a_suspension(steps: int) -> None:
    """`except* BaseException` takes it, which is found as ever; an `except* ValueError` lets it pass."""

    def order(ctx: Context) -> str:
        try:
            ctx.step("charge", reserve)
            ctx.sleep("pause", 60)
            ctx.step("ship", reserve)
        except* ValueError:
            return_value.append("handled")
        return "done"

    return_value: list[str] = []
    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.output, return_value) == ("completed", "done", [])


@pytest.mark.rule("D8")
def test_except_star_of_base_exception_that_swallows_a_suspension_fails() -> None:
    def order(ctx: Context) -> str:
        ctx.step("reserve", reserve, rollback=undo)
        try:
            ctx.sleep("pause", 60)
        except* BaseException:
            pass
        return "a wrong success"

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.error.type, undone) == ("failed", "SuspensionSwallowed", ["reserve"])


@pytest.mark.rule("D6")
def test_except_star_does_not_hide_a_divergence() -> None:
    def original(ctx: Context) -> None:
        ctx.step("first", reserve)
        ctx.sleep("pause", 60)

    def other(ctx: Context) -> None:
        try:
            ctx.step("another", reserve)
        except* ValueError:
            pass

    code = Code(original)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = other
        durable.run()

        assert (execution.status, execution.error.type) == ("diverged", "HistoryDiverged")


@pytest.mark.rule("D9")
def test_except_star_does_not_turn_a_lost_lease_or_a_fault_into_a_failure() -> None:
    def order(ctx: Context) -> str:
        try:
            return ctx.step("first", reserve) + ctx.step("second", reserve)
        except* Exception:
            pass
        return "a wrong success"

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=20) as durable:
        execution = durable.start(code.workflow)
        durable.faults.before(2, durable.faults.refuse("AccessDeniedException"), by="Worker", operation="UpdateItem")
        durable.run()

        assert (execution.status, execution.output) == ("completed", "firstsecond")
