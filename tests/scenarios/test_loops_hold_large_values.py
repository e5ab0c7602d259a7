"""What a loop carries may be large: it is kept beside the history, and goes when the loop forgets it."""

from __future__ import annotations

from typing import Any

import pytest

from durable import Break, CodecError, Context, Continue, Undo, workflow
from durable.runtime.storage.values import OBJECT
from durable.testing import Harness
from tests.scenarios.outside import incompressible
from tests.scenarios.table import items

pytestmark = [pytest.mark.rule("S13"), pytest.mark.rule("L3")]

LARGE = 600_000  # more than an item holds


def values_of(durable: Harness, execution_id: str) -> list[str]:
    """The values that are kept beside the history: items, and objects in the bucket."""
    kept = [key for key in items(durable, execution_id) if key.startswith(("payload#", "memo#", "state#"))]
    return [*kept, *durable.stored.objects(execution_id)]


@pytest.mark.rule("L4")
def test_a_state_and_a_result_of_any_size_go_through_it() -> None:
    def turn(ctx: Context, text: str) -> Continue[str] | Break[str]:
        ctx.step("grow", lambda step: len(text))
        return Break(text) if len(text) > 3 * LARGE else Continue(text + incompressible(LARGE // 5))

    @workflow
    def order(ctx: Context) -> int:
        text = ctx.loop("turns", turn, state="", prune_every=4)
        ctx.step("look", lambda step: None)
        return len(text)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", 16 * (LARGE // 5))
        (loop,) = [entry for entry in execution.history if entry.kind == "loop"]
        assert len(loop.output) == 16 * (LARGE // 5)
        assert len(durable.faults.bodies) == 18
        assert len(values_of(durable, execution.id)) == 1  # what it broke with


def test_a_state_that_nothing_can_hold_fails_by_name_and_what_was_done_is_rolled_back() -> None:
    undone: list[str] = []

    def turn(ctx: Context, text: str) -> Continue[str] | Break[str]:
        ctx.step("grow", lambda step: None, rollback=lambda undo: undone.append(undo.name))
        return Continue("x" * (OBJECT + 1))

    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("turns", turn, state="")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.rollback.outcome, undone) == ("failed", "completed", ["grow"])
        assert execution.error is not None
        assert (execution.error.type, "the state of loop 'turns'" in execution.error.message) == (
            CodecError.__name__,
            True,
        )


@pytest.mark.parametrize("size", [20_000, LARGE], ids=["items", "objects"])
def test_what_it_forgets_leaves_the_table_and_the_bucket(size: int) -> None:
    def turn(ctx: Context, state: Any) -> Continue[Any] | Break[int]:
        number = 0 if state is None else state[0]
        message = ctx.queue.next("wait", "texts", body=str)
        ctx.step("work", lambda step: incompressible(size))
        return Break(number) if number == 29 else Continue((number + 1, message.body))

    @workflow
    def order(ctx: Context) -> int:
        last: int = ctx.loop("turns", turn, state=None, prune_every=3)
        return last

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        most = 0
        for number in range(30):
            execution.send("texts", incompressible(size + number))
            durable.run(0)
            most = max(most, len(values_of(durable, execution.id)))

        assert (execution.status, execution.output) == ("completed", 29)
        assert (
            most <= 3 * 2 + 2
        )  # turns that are kept, each with a message and a result; the state, and the one to come
        assert values_of(durable, execution.id) == []


@pytest.mark.rule("R15")
def test_what_a_rollback_may_still_need_stays() -> None:
    outputs: list[int] = []

    def undo(undo: Undo[str]) -> None:
        outputs.append(len(undo.output or ""))

    def turn(ctx: Context, text: str) -> Continue[str] | Break[str]:
        ctx.step("work", lambda step: text + "!", rollback=undo)
        return Break("") if len(text) > 12 * 20_000 else Continue(text + incompressible(20_000))

    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("turns", turn, state="", prune_every=2)
        raise RuntimeError("too late")

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert outputs == [20_000 * number + 1 for number in range(13, -1, -1)]
