"""What a replay does grows with the number of recorded operations, and not with its square, of whatever kind they are.

Counted are the calls of functions in the last invocation: they are the same on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from durable import Break, Context, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("D1", "L3")


def undo(undo: Undo[int]) -> None:
    """Nothing: it is never run."""


def message(ctx: Context, name: str) -> None:
    ctx.queue.next(name, "inbox", timeout=0, completable=True)


def nested(ctx: Context, name: str) -> None:
    ctx.loop(name, lambda ctx: Break(ctx.loop("inner", lambda ctx: Break(ctx.step("x", lambda step: 1)))))


OPERATIONS: dict[str, Callable[[Context, str], object]] = {
    "steps": lambda ctx, name: ctx.step(name, lambda step: 1),
    "steps with rollbacks": lambda ctx, name: ctx.step(name, lambda step: 1, rollback=undo),
    "steps of one name": lambda ctx, name: ctx.step("x", lambda step: 1),
    "sleeps": lambda ctx, name: ctx.sleep(name, 0),
    "blocks": lambda ctx, name: ctx.try_block(name, lambda ctx: ctx.step("x", lambda step: 1)),
    "loops": lambda ctx, name: ctx.loop(name, lambda ctx: Break(ctx.step("x", lambda step: 1))),
    "loops in loops": nested,
    "loops with rollbacks": lambda ctx, name: ctx.loop(
        name, lambda ctx: Break(ctx.step("x", lambda step: 1, rollback=undo))
    ),
    "waits": lambda ctx, name: ctx.wait_for(name, lambda step: 1, every=60),
    "version gates": lambda ctx, name: ctx.version(name, 2),
    "checkpoints": lambda ctx, name: ctx.rollback_checkpoint(name),
    "queue timeouts": lambda ctx, name: ctx.queue.next_batch(name, timeout=0),
    "removed": lambda ctx, name: (ctx.removed(name, "step"), ctx.step(f"{name} kept", lambda step: 1)),
}


def calls(operation: Callable[[Context, str], object], number: int, *, cancelled: bool) -> int:
    """How many calls the last invocations make, in which so many operations are replayed."""
    counted = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal counted
        counted += 1

    counting = False

    @workflow(name="order")
    def order(ctx: Context) -> None:
        if counting:
            sys.setprofile(count)  # once more, where the workflow's code has a stack of its own
        for place in range(number):
            operation(ctx, f"x{place}")
        ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=1_000_000, store="local") as durable:
        execution = durable.start(order)
        durable.run(duration=30)
        assert execution.status == "waiting"
        if cancelled:
            execution.cancel()
        else:
            durable.clock.advance(60)
        counting = True
        sys.setprofile(count)
        try:
            durable.deliver_once()
        finally:
            sys.setprofile(None)
    return counted


@pytest.mark.parametrize("cancelled", [False, True], ids=["forward", "rollback"])
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())
def test_twice_as_many_operations_are_replayed_with_twice_as_many_calls(
    operation: Callable[[Context, str], object], cancelled: bool
) -> None:
    few, some, many = (calls(operation, number, cancelled=cancelled) for number in (50, 100, 200))

    # Four were the square; what is read in segments comes in jumps.
    assert (many - some) / (some - few) < 2.7, (few, some, many)
