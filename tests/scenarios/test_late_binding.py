"""Each rollback of a loop sees its own item."""

from __future__ import annotations

import pytest

from durable import Context, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("D13")


def test_rollbacks_named_in_a_for_loop_release_each_their_own_item() -> None:
    released: list[tuple[str, str | None]] = []

    @workflow
    def order(ctx: Context, items: list[str]) -> None:
        for item in items:
            ctx.step(
                "reserve", lambda step: f"reserved {item}", rollback=lambda undo: released.append((item, undo.output))
            )
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order, ["a", "b", "c"])
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert released == [("c", "reserved c"), ("b", "reserved b"), ("a", "reserved a")]


def test_a_variable_that_changes_after_the_step_does_not_change_its_rollback() -> None:
    released: list[tuple[str, int]] = []

    @workflow
    def order(ctx: Context) -> None:
        price = 10

        def release(undo: Undo, name: str) -> None:
            released.append((name, price))

        ctx.step("reserve", lambda step, name: None, "a", rollback=release)
        price = 20
        ctx.step("reserve", lambda step, name: None, "b", rollback=release)
        price = 30
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

        assert released == [("b", 20), ("a", 10)]


def test_a_count_that_rollbacks_share_is_shared() -> None:
    counts: list[int] = []

    @workflow
    def order(ctx: Context) -> None:
        count = 0
        for name in "ab":

            def release(undo: Undo) -> None:
                nonlocal count
                count += 1
                counts.append(count)

            ctx.step(name, lambda step: None, rollback=release)
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        durable.start(order)
        durable.run()

        assert counts == [1, 2]
