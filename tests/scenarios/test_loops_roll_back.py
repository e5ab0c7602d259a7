"""A loop forgets no compensation: turns whose rollbacks a failure would run are kept until a boundary passes them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from durable import Break, Context, Continue, Step, TerminalError, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("R15", "R5", "R6")

undone: list[str] = []


def charge(step: Step, number: int) -> str:
    return f"charge {number}"


def refund(undo: Undo[str], number: int) -> None:
    assert undo.output in (f"charge {number}", None)
    undone.append(f"{undo.path}: {number}")


@pytest.fixture(autouse=True)
def _fresh() -> None:
    undone.clear()


def turns(
    last: int, each: Callable[[Context, int], object] = lambda ctx, number: None
) -> Callable[[Context, int], Continue[int] | Break[int]]:
    """The body of a loop that charges in each turn."""

    def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
        each(ctx, number)
        ctx.step("charge", charge, number, rollback=refund)
        return Break(number) if number == last else Continue(number + 1)

    return turn


def test_a_failure_after_fifty_turns_rolls_all_of_them_back_in_reverse() -> None:
    def fails_at_last(ctx: Context, number: int) -> None:
        if number == 50:
            raise ValueError("sold out")

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", charge, -1, rollback=refund)
        ctx.loop("turns", turns(99, fails_at_last), state=0)

    with Harness(workflows=[order], steps_per_invocation=20) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert undone == [*(f"turns[{n}]/charge: {n}" for n in reversed(range(50))), "charge: -1"]


def test_a_failure_after_the_loop_has_ended_rolls_it_back_in_its_place() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("before", charge, -1, rollback=refund)
        ctx.loop("turns", turns(4), state=0, prune_every=2)
        ctx.step("after", charge, -2, rollback=refund)
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.status == "failed"
        assert undone == ["after: -2", *(f"turns[{n}]/charge: {n}" for n in (4, 3, 2, 1, 0)), "before: -1"]


def test_what_a_boundary_has_passed_is_forgotten_and_not_rolled_back() -> None:
    def bounded(ctx: Context, number: int) -> None:
        if number == 30:
            raise ValueError("sold out")
        if number in (10, 23):
            ctx.rollback_checkpoint("settled")

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", charge, -1, rollback=refund)
        ctx.loop("turns", turns(99, bounded), state=0, prune_every=5)

    with Harness(workflows=[order], steps_per_invocation=10) as durable:
        execution = durable.start(order)
        longest = 0
        while durable.messages():
            durable.deliver_once()
            if execution.status in ("running", "pending"):
                longest = max(longest, len(execution.history))
        durable.run()

        assert (execution.status, longest < 25) == ("failed", True)
        assert undone == [f"turns[{n}]/charge: {n}" for n in reversed(range(23, 30))]


def test_with_a_boundary_in_each_turn_the_loop_forgets_as_if_it_had_no_rollbacks() -> None:
    def bounded(ctx: Context, number: int) -> None:
        if number == 58:
            raise ValueError("sold out")
        ctx.rollback_checkpoint("settled")

    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("turns", turns(99, bounded), state=0, prune_every=5)

    with Harness(workflows=[order], steps_per_invocation=10) as durable:
        execution = durable.start(order)
        longest = 0
        while durable.messages():
            durable.deliver_once()
            longest = max(longest, len(execution.history))
        durable.run()

        assert (execution.status, undone) == ("failed", ["turns[57]/charge: 57"])
        assert longest <= 5 * 2 + 2 + 1


@pytest.mark.rule("R14")
def test_a_boundary_after_the_loop_settles_all_of_it() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("turns", turns(4), state=0, prune_every=2)
        ctx.rollback_checkpoint("settled")
        ctx.step("after", charge, -2, rollback=refund)
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, undone) == ("failed", ["after: -2"])


def test_loops_in_loops_and_repeated_loops_are_rolled_back_in_reverse_order_of_their_starts() -> None:
    def outer(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.loop("inner", turns(2), state=0, prune_every=1)
        ctx.try_block("block", lambda ctx: ctx.loop("inner", turns(1), state=0))
        return Break(number) if number == 1 else Continue(number + 1)

    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("outer", outer, state=0, prune_every=1)
        ctx.loop("outer", turns(1), state=0)
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=3) as durable:
        durable.start(order)
        durable.run()

        started = [
            *(
                f"outer[{n}]/{inner}/charge: {inner[-2]}"
                for n in (0, 1)
                for inner in ("inner[0]", "inner[1]", "inner[2]", "block/inner[0]", "block/inner[1]")
            ),
            "outer#2[0]/charge: 0",
            "outer#2[1]/charge: 1",
        ]
        assert undone == started[::-1]


@pytest.mark.rule("R8", "E3")
def test_a_rollback_of_a_loop_goes_on_where_its_process_died() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("turns", turns(4), state=0, prune_every=2)
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=2) as durable:
        execution = durable.start(order)
        for path in ("turns[3]/charge", "turns[1]/charge"):
            durable.faults.in_body(2, durable.faults.die, path=path)  # the first body of this path goes forward
        durable.run()

        assert (execution.status, undone) == ("failed", [f"turns[{n}]/charge: {n}" for n in (4, 3, 2, 1, 0)])
        assert durable.faults.bodies.count("turns[3]/charge") == 3


@pytest.mark.rule("R12", "R4")
def test_a_cancel_in_a_turn_rolls_back_that_turn_and_those_before() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("turns", turns(99, lambda ctx, number: ctx.sleep("nap", 60)), state=0, prune_every=2)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.faults.in_body(1, execution.cancel, path="turns[5]/charge")
        durable.run()

        assert (execution.status, undone) == ("cancelled", [f"turns[{n}]/charge: {n}" for n in reversed(range(6))])


@pytest.mark.rule("R14")
def test_a_boundary_that_was_forgotten_with_its_turn_still_stands() -> None:
    def turn(ctx: Context, number: int) -> Continue[int]:
        if number == 1:
            ctx.rollback_checkpoint("settled")
        if number == 9:
            raise ValueError("sold out")
        ctx.step("look", lambda step: None)
        return Continue(number + 1)

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", charge, -1, rollback=refund)
        ctx.loop("turns", turn, state=0, prune_every=2)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, undone) == ("failed", [])


@pytest.mark.rule("R14")
def test_a_step_after_a_loop_that_forgot_its_boundaries_is_after_them() -> None:
    def turn(ctx: Context, number: int) -> Continue[int] | Break[None]:
        ctx.rollback_checkpoint("settled")
        ctx.step("look", lambda step: None)
        return Break() if number == 9 else Continue(number + 1)

    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("turns", turn, state=0, prune_every=2)
        ctx.step("after", charge, -2, rollback=refund)
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, undone) == ("failed", ["after: -2"])


def refuse(step: Step, number: int) -> str:
    raise TerminalError("no such card")


@pytest.mark.rule("F6", "R4")
@pytest.mark.parametrize("where", ["in a turn", "after the loop"])
def test_handled_failures_in_turns_and_blocks_hide_no_step_before_or_after_them(where: str) -> None:
    def flow(ctx: Context, number: int) -> None:
        ctx.step("hold", charge, number, rollback=refund)
        ctx.step("refused", refuse, number, rollback=refund)

    def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.step("first", charge, number, rollback=refund)
        ctx.try_step("refused", refuse, number, rollback=refund)
        ctx.try_block("flow", flow, number)
        ctx.step("last", charge, number, rollback=refund)
        if number == 2 and where == "in a turn":
            raise ValueError("sold out")
        return Break(number) if number == 2 else Continue(number + 1)

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("before", charge, -1, rollback=refund)
        ctx.try_step("refused", refuse, -1, rollback=refund)
        ctx.loop("turns", turn, state=0, prune_every=1)
        ctx.step("after", charge, -2, rollback=refund)
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=4) as durable:
        execution = durable.start(order)
        durable.run()

        of_turns = [
            f"turns[{number}]/{step}: {number}"
            for number in range(3)
            for step in ("first", "refused", "flow/hold", "flow/refused", "last")
        ]
        started = ["before: -1", "refused: -1", *of_turns, *(["after: -2"] if where == "after the loop" else [])]
        assert (execution.status, execution.rollback.outcome, undone) == ("failed", "completed", started[::-1])
