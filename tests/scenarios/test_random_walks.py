"""Misfortunes and verbs at random moments, over a workflow that uses most of the vocabulary: each seed is one walk.

`DURABLE_TEST_WALKS=500 .venv/bin/pytest tests/scenarios/test_random_walks.py` makes more of them.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from durable import (
    Break,
    Context,
    Continue,
    Execution,
    InvalidState,
    QueueTimeout,
    Retry,
    Step,
    StoreError,
    TerminalError,
    Undo,
    workflow,
)
from durable.testing import Harness
from tests.scenarios.outside import Outside
from tests.stores import sampled

WALKS = int(os.environ.get("DURABLE_TEST_WALKS", "60"))
TOGETHER = 5  # walks in one test
DAY = 86_400
TURNS = 4

outside = Outside()


def do(step: Step[dict[str, int]]) -> str:
    step.state["bodies"] = step.state.get("bodies", 0) + 1
    return outside.do(step)


def flaky(step: Step[dict[str, int]]) -> str:
    do(step)
    if step.attempt == 1:
        raise ConnectionError("try again")
    return step.path


def refuse(step: Step[dict[str, int]]) -> None:
    do(step)
    raise TerminalError("no")


def count(step: Step[dict[str, int]]) -> int:
    do(step)
    turns = (step.db.get("turns", int) or 0) + 1
    step.db.put("turns", turns)
    step.queue.send("own", turns)
    return turns


def undo(undo: Undo[Any, Any]) -> None:
    outside.undo(undo)


@workflow(state=dict[str, int])
def order(ctx: Context[dict[str, int]], fails: bool) -> int:
    """Blocks in a loop, retries, messages of its own and of others, sleeps, handled failures, and perhaps one that is not."""
    ctx.step("reserve", do, rollback=undo)
    ctx.loop("turns", turn, state=0, prune_every=1)
    ctx.step("ship", do, rollback=undo)
    if fails:
        ctx.step("charge", refuse, rollback=undo)
    return ctx.step("total", lambda step: step.db.get("turns", int) or 0)


def turn(ctx: Context, number: int) -> Continue[int] | Break[None]:
    def block(ctx: Context) -> int:
        ctx.step("plan", flaky, rollback=undo, retry=Retry(3, backoff_base=5 if number % 2 else 0.01))
        ctx.step("count", count)
        message = ctx.queue.next("own", "own", body=int, timeout=DAY)
        ctx.step("apply", refuse if number == 1 else do, rollback=undo)
        return message.body

    ctx.try_block("part", block)
    with suppress(QueueTimeout):
        ctx.queue.next("ask", "asked", timeout=30, completable=True).complete(number)
    ctx.sleep("nap", 1_000 if number == 2 else 20)
    return Continue(number + 1) if number + 1 < TURNS else Break(None)


class Walk:
    """One execution, and what befalls it."""

    def __init__(self, seed: int, durable: Harness, execution: Execution[Any, Any]) -> None:
        self.chance = random.Random(seed)
        self.durable = durable
        self.execution = execution
        self.sent = 0

    def stumble(self) -> None:
        """Something goes wrong, soon."""
        faults, nth = self.durable.faults, self.chance.randrange(1, 40)
        plans: list[Callable[[], None]] = [
            lambda: faults.before(nth, faults.die, by="Worker"),
            lambda: faults.after(nth, faults.die, by="Worker"),
            lambda: faults.after(nth, faults.lose_answer, by="Worker"),
            lambda: faults.before(nth, faults.refuse("ThrottlingException"), by="Worker"),
            lambda: faults.before(nth, faults.swallow, operation=self.durable.sending),
            lambda: faults.in_body(nth % 5 + 1, faults.die),
            lambda: outside.after(nth % 5 + 1, faults.die),
        ]
        self.chance.choice(plans)()

    def ask(self) -> None:
        """A client wants something."""
        wish = self.chance.random()
        if wish < 0.10:
            self.execution.pause()
        elif wish < 0.40:
            if self.execution.status == "paused":
                self.execution.resume()
        elif wish < 0.45:
            self.execution.cancel()
        elif wish < 0.85:
            self.sent += 1
            self.execution.send("asked", self.sent, message_id=f"m-{self.sent}")

    def go(self) -> None:
        """A few stretches of the way."""
        for _ in range(self.chance.randrange(2, 9)):
            if self.chance.random() < 0.6:
                self.stumble()
            with suppress(InvalidState, StoreError):  # it has ended, or the call was struck
                self.ask()
            self.durable.run(self.chance.choice([0, 5, 30, 300]))

    def rest(self) -> None:
        """Nothing more goes wrong, and nobody keeps it: it must end by itself."""
        self.durable.faults.clear()
        outside.clear()
        if self.execution.status == "paused":
            self.execution.resume()
        self.durable.run(2 * DAY)


@pytest.mark.rule("D2", "E3", "E4", "E5", "R4", "R5", "R8", "R12", "S10", "Q2", "L4")
@pytest.mark.parametrize("first", range(0, WALKS, TOGETHER))
def test_whatever_befalls_it_an_execution_ends_well(first: int) -> None:
    for seed in sampled(range(first, first + TOGETHER), 1):
        walked(seed)


def walked(seed: int) -> None:
    """One walk; the id of its execution has the seed."""
    chance = random.Random(-seed)
    fails, steps = chance.random() < 0.5, chance.choice([1, 3, 100])
    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        outside.durable = durable
        durable.duplicate_all(chance.choice([0, 0, 1]))
        execution = durable.start(order, fails, execution_id=f"walk-{seed}")
        walk = Walk(seed, durable, execution)
        walk.go()
        walk.rest()

        seen = outside.seen[execution.id]
        forward = [what for what in seen.done if not what.startswith("undo ")]
        back = [what.removeprefix("undo ") for what in seen.done if what.startswith("undo ")]
        assert seen.wrong == []
        assert execution.status in ({"failed", "cancelled"} if fails else {"completed", "cancelled"})
        assert [what for what, times in Counter(forward).items() if times > 1] == []  # one key each
        assert (durable.messages(None), list(durable.schedules)) == ([], [])
        if execution.status == "completed":
            assert (execution.output, execution.rollback.outcome, back) == (TURNS, "none", [])
        else:
            started = [what for what in forward if not what.endswith(("count", "total"))]
            doubtful = [what for what in back if what not in started]  # R4: it may have started, and had no effect
            assert execution.rollback.outcome == ("completed" if back else "none")
            assert ([what for what in back if what not in doubtful], len(doubtful) <= 1) == (started[::-1], True)
