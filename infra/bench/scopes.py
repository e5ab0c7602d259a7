"""What loops, waits and blocks that have ended cost a replay: no more than twice as much as steps, and in proportion."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from durable import Break, Context, Step, workflow
from durable.engine.outcomes import Done
from durable.engine.replay import Replay, Settings
from durable.testing import Harness
from durable.testing.determinism.recording import Recording
from infra.bench.report import Figure

FEW, MANY = 2_000, 4_000
RUNS = 7
MOST = 2.0  # times as long as so many steps
GROWTH = 2.2  # times as long for twice as many


def one(step: Step) -> int:
    """A step's result."""
    return 1


def ended(ctx: Context) -> Break[int]:
    """A loop's only iteration."""
    return Break(ctx.step("one", one))


def inside(ctx: Context) -> int:
    """A block with a step."""
    return ctx.step("one", one)


KINDS: dict[str, Callable[[Context], object]] = {
    "steps": lambda ctx: ctx.step("one", one),
    "wait_fors": lambda ctx: ctx.wait_for("there", one, every=60),
    "loops": lambda ctx: ctx.loop("turns", ended),
    "blocks": lambda ctx: ctx.try_block("block", inside),
}


def figures() -> Iterator[Figure]:
    """Of each kind, beside so many steps; and of each, beside half as many."""
    spent = {(kind, count): _replayed(operation, count) for kind, operation in KINDS.items() for count in (FEW, MANY)}
    for kind in list(KINDS)[1:]:
        ratio = spent[kind, FEW] / spent["steps", FEW]
        yield Figure(f"{FEW:,} {kind} that have ended / {FEW:,} steps", ratio, "x", MOST)
    for kind in KINDS:
        yield Figure(f"{MANY:,} {kind} / {FEW:,}", spent[kind, MANY] / spent[kind, FEW], "x", GROWTH)


def _replayed(operation: Callable[[Context], object], count: int) -> float:
    """Return the seconds of a replay of an execution that has done it so often."""

    @workflow
    def many(ctx: Context) -> None:
        for _ in range(count):
            operation(ctx)

    with Harness(workflows=[many], store="local", steps_per_invocation=10 * count) as durable:
        execution = durable.start(many)
        durable.run()
        recording = Recording.read(durable.application.ports, execution.id)
    assert recording is not None and recording.head.status == "completed", recording
    return min(_replay(many, recording) for _ in range(RUNS))


def _replay(many: Any, recording: Recording) -> float:
    settings = Settings("bench", created=1, now=recording.head.claimed, fields={}, check=lambda stored, what: stored)
    replay = Replay(many, recording.history(), settings)
    started = time.perf_counter()
    outcome = replay.advance(settings.now)
    spent = time.perf_counter() - started
    assert isinstance(outcome, Done), outcome
    return spent
