"""What is left of messages does not grow without end: ids and responses are forgotten after a month."""

from __future__ import annotations

import pytest

from durable import Break, Context, Continue, workflow
from durable.protocol.expiry import REMEMBERED
from durable.testing import Harness

DAY = 86_400


@workflow
def endless(ctx: Context) -> None:
    """Answers questions for ever."""

    def turn(ctx: Context, count: int) -> Continue[int] | Break[None]:
        ctx.queue.next("wait", "questions", completable=True).complete(count)
        return Continue(count + 1)

    ctx.loop("turns", turn, state=0, prune_every=1)


@pytest.mark.rule("Q2", "Q3", "L3")
def test_what_is_left_of_the_messages_of_an_endless_execution_is_forgotten_after_a_month() -> None:
    with Harness(workflows=[endless], store="local") as durable:
        execution = durable.start(endless)
        most = 0
        for number in range(120):
            execution.send("questions", "?", message_id=f"m-{number}")
            durable.run(duration=DAY)
            durable.sweep()
            assert execution.send("questions", "?", wait=0, message_id=f"m-{number}") == number
            most = max(most, len(durable.stored.items(execution.id)))

        assert most < 2 * (REMEMBERED / 1000 / DAY + 1) + 10
