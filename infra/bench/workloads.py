"""The workflows that are measured."""

from __future__ import annotations

import random

from durable import Break, Context, Continue, Step, workflow

RESULT = 200  # bytes of a step's result


def work(step: Step, number: int) -> str:
    """A result that does not compress: the same for each number, and unlike any other."""
    return random.Random(number).randbytes(RESULT // 2).hex()


@workflow
def steps(ctx: Context, count: int) -> None:
    """So many steps, one after the other."""
    for number in range(count):
        ctx.step("work", work, number)


@workflow
def loop(ctx: Context, count: int) -> int:
    """A loop whose iterations wait for a message and run two steps each."""

    def turn(ctx: Context, done: int) -> Continue[int] | Break[int]:
        message = ctx.queue.next("wait", "orders", body=int)
        ctx.rollback_checkpoint("settled")
        ctx.step("plan", work, message.body)
        ctx.step("apply", work, -message.body)
        return Break(done + 1) if done + 1 == count else Continue(done + 1)

    return ctx.loop("turns", turn, state=0)
