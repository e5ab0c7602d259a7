"""A large value that is kept beside the history stays, whatever is recorded after it in the same invocation."""

from __future__ import annotations

import pytest

from durable import Context, Step, TerminalError, Undo, workflow
from durable.testing import Harness
from tests.scenarios.outside import incompressible

pytestmark = [pytest.mark.rule("S13", "D2")]

SIZES = (5_000, 100_000, 900_000)  # in an item of its own; in several; an object of the bucket


@pytest.mark.parametrize("steps", [1, 2, 99])
@pytest.mark.parametrize("size", SIZES)
def test_a_result_is_there_for_the_history_and_for_every_replay(size: int, steps: int) -> None:
    lengths: list[int] = []

    def large(step: Step) -> str:
        return incompressible(size)

    @workflow
    def order(ctx: Context) -> int:
        text = ctx.step("large", large)
        for name in "abc":
            ctx.step(name, lambda step: lengths.append(len(text)))
        ctx.sleep("nap", 60)
        return ctx.step("again", lambda step: len(text))

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output, lengths) == ("completed", size, [size] * 3)
        assert [entry.output for entry in execution.history if entry.path == "large"] == [incompressible(size)]


@pytest.mark.rule("R9")
@pytest.mark.parametrize("steps", [1, 2, 99])
@pytest.mark.parametrize("size", SIZES)
def test_a_rollback_gets_it(size: int, steps: int) -> None:
    undone: list[int] = []

    def undo(undo: Undo[str]) -> None:
        undone.append(len(undo.output or ""))

    def refuse(step: Step) -> None:
        raise TerminalError("no")

    @workflow
    def order(ctx: Context) -> None:
        for name in ("large", "larger"):
            ctx.step(name, lambda step: incompressible(size), rollback=undo)
        ctx.step("small", lambda step: 1)
        ctx.step("refuse", refuse)

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.rollback.outcome, undone) == ("completed", [size, size])
