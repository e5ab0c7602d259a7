"""`ctx.rollback_checkpoint` is a boundary: what started before it is settled business."""

from __future__ import annotations

import pytest

from durable import Context, Step, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("R14")

undone: list[str] = []


def done(step: Step) -> str:
    return step.path


def undo(undo: Undo[str]) -> None:
    undone.append(undo.path)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    undone.clear()


def test_a_later_failure_rolls_back_to_it_and_no_further() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("a", done, rollback=undo)
        ctx.step("b", done, rollback=undo)
        ctx.rollback_checkpoint("paid")
        ctx.step("c", done, rollback=undo)
        ctx.step("d", done, rollback=undo)
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.rollback.outcome, undone) == ("failed", "completed", ["d", "c"])
        assert [(entry.path, entry.kind, entry.status) for entry in execution.history if entry.path == "paid"] == [
            ("paid", "checkpoint", "completed")
        ]


def test_the_last_one_counts_wherever_it_stands() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("a", done, rollback=undo)
        ctx.rollback_checkpoint("first")
        ctx.step("b", done, rollback=undo)
        ctx.try_block("block", lambda ctx: (ctx.step("c", done, rollback=undo), ctx.rollback_checkpoint("second")))
        ctx.step("d", done, rollback=undo)
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

        assert undone == ["d"]


def test_without_one_everything_is_rolled_back() -> None:
    @workflow
    def order(ctx: Context) -> None:
        for name in "abc":
            ctx.step(name, done, rollback=undo)
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

        assert undone == ["c", "b", "a"]


@pytest.mark.parametrize("fails", ["at once", "after a sleep"])
def test_directly_before_the_failure_it_leaves_nothing_to_roll_back(fails: str) -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("a", done, rollback=undo)
        ctx.rollback_checkpoint("paid")
        if fails == "after a sleep":
            ctx.sleep("pause", 60)
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.rollback.outcome, undone) == ("failed", "none", [])


@pytest.mark.rule("R4", "R12")
def test_it_is_recorded_before_a_later_body_so_that_a_crash_does_not_move_it() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("a", done, rollback=undo)
        ctx.rollback_checkpoint("paid")
        ctx.step("b", done, rollback=undo)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.deliver_once()
        durable.faults.in_body(1, durable.faults.die, path="b")
        durable.deliver_once()
        execution.cancel()
        durable.run()

        assert (execution.status, undone) == ("cancelled", ["b"])


@pytest.mark.rule("R4")
def test_where_it_was_not_reached_what_comes_before_it_is_rolled_back_and_what_comes_after_has_not_started() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("a", done, rollback=undo)
        ctx.rollback_checkpoint("paid")
        ctx.step("b", done, rollback=undo)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.deliver_once()
        claim = 1
        durable.faults.after(claim, durable.faults.die, operation="UpdateItem", by="Worker")
        durable.deliver_once()
        execution.cancel()
        durable.run()

        assert (execution.status, undone) == ("cancelled", ["a"])
