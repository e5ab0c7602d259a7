"""A rollback that did not come to its end says what did not run and what failed, whatever the code is by then.

The chain is recorded with its first rollback, and the report is read from that record: what a deploy adds later is not
in it. An execution that is terminated during its rollback keeps its error, and its rollback has failed.
"""

from __future__ import annotations

from typing import Any

import pytest

from durable import Break, Context, Continue, ErrorInfo, Execution, Retry, Step, TerminalError, Undo
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("R10", "R11")

ORIGINAL = ErrorInfo("TerminalError", "no such address", {"step": "fails", "kind": "critical", "attempts": 1})
PAID_OUT = ErrorInfo("TerminalError", "already paid out")
ran: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


def note(step: Step) -> str:
    return step.path


def refuse(step: Step) -> None:
    raise TerminalError("no such address")


def undo(undo: Undo[str]) -> None:
    ran.append(undo.path)


def hopeless(undo: Undo[str]) -> None:
    ran.append(undo.path)
    raise TerminalError("already paid out")


def report(execution: Execution[Any, Any]) -> tuple[object, ...]:
    """All that is told of a rollback, as one value."""
    rollback = execution.rollback
    return (rollback.outcome, rollback.error, dict(rollback.failed), list(rollback.not_run))


HALTED_AT_SECOND = ("failed", PAID_OUT, {"second": PAID_OUT}, ["first"])

# --- what did not run ------------------------------------------------------------------------------------------------------


def without_first(ctx: Context) -> None:
    ctx.step("first", note)
    ctx.step("second", note, rollback=hopeless)
    ctx.step("third", note, rollback=undo)
    ctx.step("fails", refuse)


def with_first(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("second", note, rollback=hopeless)
    ctx.step("third", note, rollback=undo)
    ctx.step("fails", refuse)


@pytest.mark.parametrize("steps", [1, 20])
def test_a_step_that_got_its_rollback_by_a_deploy_is_reported_as_not_run(steps: int) -> None:
    code = Code(without_first)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        while execution.status != "failing":
            durable.deliver_once()
        code.deployed = with_first
        durable.run()

        assert (execution.status, execution.error, ran) == ("failed", ORIGINAL, ["third", "second"])
        assert report(execution) == HALTED_AT_SECOND


def test_a_step_that_got_its_rollback_by_a_deploy_is_rolled_back_with_the_others() -> None:
    def first_alone(ctx: Context) -> None:
        ctx.step("first", note, rollback=undo)
        ctx.step("fails", refuse)

    def nothing(ctx: Context) -> None:
        ctx.step("first", note)
        ctx.step("fails", refuse)

    code = Code(nothing)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        while execution.status != "failing":
            durable.deliver_once()
        code.deployed = first_alone
        durable.run()

        assert (execution.status, ran) == ("failed", ["first"])
        assert report(execution) == ("completed", None, {}, [])


def test_what_a_deploy_adds_once_the_chain_has_begun_is_not_reported_as_left() -> None:
    """The chain is as it was recorded: a rollback that did not belong to it is neither missing nor failed."""

    def begun(ctx: Context) -> None:
        ctx.step("first", note)
        ctx.step("second", note, rollback=undo)
        ctx.step("third", note, rollback=undo)
        ctx.step("fails", refuse)

    def added(ctx: Context) -> None:
        ctx.step("first", note, rollback=undo)
        ctx.step("second", note, rollback=undo)
        ctx.step("third", note, rollback=undo)
        ctx.step("fails", refuse)

    code = Code(begun)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.faults.in_body(5, lambda: setattr(code, "deployed", added))  # as third is rolled back
        durable.run()

        assert (execution.status, ran[:2]) == ("failed", ["third", "second"])
        assert report(execution) == ("completed", None, {}, [])


def test_the_report_stays_as_it_is_whatever_is_deployed_later() -> None:
    code = Code(with_first)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()
        assert report(execution) == HALTED_AT_SECOND

        code.deployed = without_first
        durable.restart_processes()
        durable.run(duration=3_600)
        assert report(execution) == HALTED_AT_SECOND


def test_a_step_that_may_have_begun_belongs_to_the_chain() -> None:
    """The process died in a body and left no record of it: it is rolled back first, and what is behind it did not run."""

    def order(ctx: Context) -> None:
        ctx.step("first", note, rollback=undo)
        ctx.sleep("pause", 0)
        ctx.step("second", note, rollback=hopeless)

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.faults.in_body(2, lambda: (execution.cancel(), durable.faults.die()))
        durable.run()

        assert (execution.status, ran) == ("cancelled", ["second"])
        assert report(execution) == HALTED_AT_SECOND


@pytest.mark.rule("R15")
def test_what_a_loop_has_left_behind_is_in_the_report(steps: int = 20) -> None:
    def turn(ctx: Context, number: int) -> Continue[int] | Break[None]:
        ctx.step("charge", note, rollback=hopeless if number == 3 else undo)
        return Continue(number + 1) if number < 4 else Break(None)

    def order(ctx: Context) -> None:
        ctx.step("first", note, rollback=undo)
        ctx.loop("loop", turn, state=0, prune_every=1)
        ctx.step("fails", refuse)

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        left = ["loop[2]/charge", "loop[1]/charge", "loop[0]/charge", "first"]
        assert report(execution) == ("failed", PAID_OUT, {"loop[3]/charge": PAID_OUT}, left)


@pytest.mark.rule("R14")
def test_what_is_behind_a_rollback_checkpoint_is_not_in_the_report() -> None:
    def order(ctx: Context) -> None:
        ctx.step("first", note, rollback=undo)
        ctx.rollback_checkpoint("committed")
        ctx.step("second", note, rollback=undo)
        ctx.step("third", note, rollback=hopeless)
        ctx.step("fails", refuse)

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert report(execution) == ("failed", PAID_OUT, {"third": PAID_OUT}, ["second"])


# --- every failed rollback -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 20])
def test_every_rollback_that_failed_is_listed_with_its_error(steps: int) -> None:
    def broken(undo: Undo[str]) -> None:
        ran.append(undo.path)
        raise ConnectionError(f"no line to {undo.path}")

    def order(ctx: Context) -> None:
        ctx.step("first", note, rollback=broken, rollback_retry=Retry(0))
        ctx.step("second", note, rollback=undo)
        ctx.try_block("block", lambda ctx: ctx.step("third", note, rollback=hopeless))
        ctx.step("fails", refuse)

    code = Code(order, on_rollback_failure="continue")
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        no_line = ErrorInfo("ConnectionError", "no line to first")
        assert (execution.status, execution.error, ran) == ("failed", ORIGINAL, ["block/third", "second", "first"])
        assert report(execution) == ("failed", PAID_OUT, {"block/third": PAID_OUT, "first": no_line}, [])


def test_a_rollback_that_is_well_has_nothing_to_list() -> None:
    def order(ctx: Context) -> None:
        ctx.step("first", note, rollback=undo)
        ctx.step("fails", refuse)

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        assert report(execution) == ("none", None, {}, [])
        durable.run()

        assert report(execution) == ("completed", None, {}, [])


# --- terminated during the rollback -----------------------------------------------------------------------------------------


def three(ctx: Context) -> None:
    for name in ("first", "second", "third"):
        ctx.step(name, note, rollback=undo)
    ctx.step("fails", refuse)


@pytest.mark.rule("R12", "E1")
@pytest.mark.parametrize("while_it_runs", [False, True])
def test_an_execution_that_is_terminated_during_its_rollback_keeps_its_error_and_says_what_did_not_run(
    while_it_runs: bool,
) -> None:
    code = Code(three)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        if while_it_runs:
            durable.faults.in_body(6, execution.terminate)  # in the rollback of second
            durable.run()
        else:
            while execution.status != "rolling_back":
                durable.deliver_once()
            durable.deliver_once()
            execution.terminate()
            durable.run()

            assert (execution.status, execution.error, ran) == ("terminated", ORIGINAL, ["third", "second"])
        assert report(execution) == ("failed", None, {}, ["second", "first"] if while_it_runs else ["first"])


@pytest.mark.rule("R12")
def test_a_cancelled_execution_that_is_terminated_during_its_rollback_says_so_too() -> None:
    def waits(ctx: Context) -> None:
        ctx.step("first", note, rollback=undo)
        ctx.step("second", note, rollback=undo)
        ctx.sleep("pause", 3_600)

    code = Code(waits)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=60)
        execution.cancel()
        while execution.status != "rolling_back":
            durable.deliver_once()
        execution.terminate()
        durable.run()

        assert (execution.status, execution.error.type, ran) == ("terminated", "Cancelled", ["second"])
        assert report(execution) == ("failed", None, {}, ["first"])


@pytest.mark.rule("R12")
def test_an_execution_that_is_terminated_before_its_rollback_began_keeps_its_error() -> None:
    code = Code(three)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        while execution.status != "failing":
            durable.deliver_once()
        execution.terminate()
        durable.run()

        assert (execution.status, execution.error, ran) == ("terminated", ORIGINAL, [])
        assert report(execution) == ("failed", None, {}, ["third", "second", "first"])


@pytest.mark.rule("R12")
@pytest.mark.parametrize("cancelled", [False, True])
def test_an_execution_that_is_terminated_in_its_first_rollback_says_what_did_not_run(cancelled: bool) -> None:
    def waits(ctx: Context) -> None:
        ctx.step("first", note, rollback=undo)
        ctx.step("second", note, rollback=undo)
        ctx.sleep("pause", 3_600)

    code = Code(waits if cancelled else three)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.faults.in_body(3 if cancelled else 5, execution.terminate)
        durable.run(duration=60)
        if cancelled:
            execution.cancel()
            durable.run()

        steps = ["second", "first"] if cancelled else ["third", "second", "first"]
        assert (execution.status, report(execution)) == ("terminated", ("failed", None, {}, steps))


@pytest.mark.rule("R12")
def test_an_execution_that_is_terminated_while_it_goes_well_has_no_rollback_and_no_failure() -> None:
    code = Code(lambda ctx: (ctx.step("first", note, rollback=undo), ctx.sleep("pause", 60)))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        execution.terminate()
        durable.run()

        assert (execution.status, ran, report(execution)) == ("terminated", [], ("none", None, {}, []))


@pytest.mark.rule("R16")
def test_an_execution_that_diverged_during_its_rollback_and_is_terminated_says_what_did_not_run() -> None:
    code = Code(three)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        while execution.status != "rolling_back":
            durable.deliver_once()
        code.deployed = lambda ctx: ctx.step("another", note)
        durable.run()
        assert execution.status == "diverged"
        execution.terminate()

        assert (execution.status, ran) == ("terminated", ["third"])
        assert report(execution) == ("failed", None, {}, ["second", "first"])
