"""Whoever looks at a running execution sees it at one moment, though what it replaces is deleted meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from durable import Break, Context, Continue, Execution, Step, workflow
from durable.testing import Harness
from tests.scenarios.outside import incompressible

pytestmark = [pytest.mark.rule("E9"), pytest.mark.rule("S13")]

SIZE = 30_000


@workflow(state=dict)
def order(ctx: Context) -> str:
    def work(step: Step, number: int) -> str:
        step.state["text"] = incompressible(SIZE + number)
        return incompressible(SIZE - number)

    def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.step("work", work, number)
        return Break(number) if number == 39 else Continue(number + 1)

    ctx.loop("turns", turn, state=0, prune_every=1)
    return incompressible(SIZE)


@order.action(read_only=True)
def length(action: Any) -> int:
    return len(action.state["text"])


@pytest.mark.parametrize(
    "look",
    [
        lambda execution: len(execution.state["text"]) - SIZE,
        lambda execution: execution.action("length") - SIZE,
        lambda execution: SIZE - len(next(e.output for e in reversed(execution.history) if e.kind == "step")),
    ],
    ids=["state", "action", "history"],
)
def test_what_is_deleted_during_a_look_is_looked_at_anew(look: Callable[[Execution[Any, Any]], int]) -> None:
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        for _ in range(5):
            durable.deliver_once()
        turns: list[int] = []

        for _ in range(5):
            durable.faults.before(2, durable.deliver_once, by="client")  # the first call has read where the value is
            turns.append(look(execution))
            durable.deliver_once()

        assert turns == [5, 7, 9, 11, 13]
