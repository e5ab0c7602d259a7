"""What a replayed step costs, beside a fixed piece of Python work, and memory over many steps in one process."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass

from durable import Context, codec, workflow
from durable.engine.entries import InputEntry, StepEntry, pack, unpack, with_value
from durable.engine.history import History
from durable.engine.outcomes import Done
from durable.engine.recorded import EntryStatus
from durable.engine.replay import Replay, Settings
from infra.bench import unit
from infra.bench.report import Figure

COUNTS = (100, 1_000, 10_000, 100_000)
RUNS = 7
STEP = 0.8  # pieces of work that a replayed step takes at most
LOAD = 0.8  # pieces of work that loading an entry takes at most
LINEAR = 1.5  # times as long as a step of the shortest history: a longer one does not fit the processor's caches


@dataclass(frozen=True)
class Result:
    """What a measured step returned."""

    id: str
    amount: int


def body(step: object, number: int) -> Result:
    """Never runs here."""
    raise AssertionError


def figures() -> Iterator[Figure]:
    """The best of several runs: the machine is shared, and noise only adds."""
    piece = unit.best()
    yield Figure("a piece of work", piece * 1e6, "µs")
    first = 0.0
    for count in COUNTS:
        entries = [_entry(number) for number in range(count)]
        history = History(entries)
        step = min(_replay(history, count) for _ in range(RUNS)) / count
        first = first or step
        piece = min(piece, unit.best(3))
        yield Figure(f"replay, {count:,} steps: a step", step * 1e6, "µs")
        yield Figure(f"replay, {count:,} steps: a step / a piece of work", step / piece, "x", STEP)
        yield Figure(f"replay, {count:,} steps: a step / one of {COUNTS[0]}", step / first, "x", LINEAR)
        packed = pack(entries)
        loading = min(_load(packed) for _ in range(RUNS)) / count
        yield Figure(f"replay, {count:,} steps: loading an entry / a piece of work", loading / piece, "x", LOAD)
    yield from _memory()


def _entry(number: int) -> StepEntry:
    path = "work" if number == 0 else f"work#{number + 1}"
    entry = StepEntry(
        path=path,
        status=EntryStatus.COMPLETED,
        order=number + 1,
        attempts=1,
        started=1,
        ended=2,
        fingerprint="0123456789abcdef",
    )
    return with_value(entry, codec.encode(Result("x" * 100, number), Result))


@workflow
def many(ctx: Context, count: int) -> None:
    """Ask for as many steps as are recorded."""
    for number in range(count):
        ctx.step("work", body, number)


def _replay(history: History, count: int) -> float:
    given = with_value(InputEntry(), codec.encode(count, int))
    history.record(given)
    settings = Settings("bench", created=1, now=5, fields={}, check=lambda stored, what: stored)
    replay = Replay(many, history, settings)
    started = time.perf_counter()
    outcome = replay.advance(5)
    spent = time.perf_counter() - started
    assert isinstance(outcome, Done), outcome
    return spent


def _load(packed: bytes) -> float:
    started = time.perf_counter()
    History(unpack(packed))
    return time.perf_counter() - started


def _memory() -> Iterator[Figure]:
    """What stays behind in a warm process after replays of 10,000 steps."""
    history = History([_entry(number) for number in range(10_000)])
    _replay(history, 10_000)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(3):
        _replay(history, 10_000)
    history.root.start_again()  # which forgets what the last replay has asked for
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    yield Figure("memory left by three replays of 10,000 steps", (after - before) / 1024, "KB", 64)
    yield Figure("memory at most during one", (peak - before) / 1024 / 1024, "MB")
