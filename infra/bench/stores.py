"""Steps a second of a harness over the local store, as a multiple of moto's: both measured in turns, in one run."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Literal

from durable.testing import Harness
from infra.bench import workloads
from infra.bench.report import Figure

STEPS = 10  # of an execution
EXECUTIONS = 20  # of a run
RUNS = 3  # of each store; the best of each counts, for noise only adds
STORES: tuple[Literal["local", "moto"], ...] = ("local", "moto")
MODES = {"one step an invocation": 1, "20 steps an invocation": 20}
BAR = 40


def figures() -> Iterator[Figure]:
    """The ratio in each mode; processor time, for the machine may be shared."""
    logging.disable(logging.WARNING)
    for mode, steps in MODES.items():
        rates = dict.fromkeys(STORES, 0.0)
        for _ in range(RUNS):
            for store in STORES:
                rates[store] = max(rates[store], _rate(store, steps))
        for name, rate in rates.items():
            yield Figure(f"{mode}, {name}: steps a second", rate)
        yield Figure(f"{mode}: local / moto", rates["local"] / rates["moto"], "x", BAR, at_least=True)


def _rate(store: Literal["local", "moto"], steps: int) -> float:
    with Harness(workflows=[workloads.steps], steps_per_invocation=steps, store=store) as durable:
        _run(durable, 1)  # what is imported and resolved once
        started = time.process_time()
        _run(durable, EXECUTIONS)
        return EXECUTIONS * STEPS / (time.process_time() - started)


def _run(durable: Harness, executions: int) -> None:
    for _ in range(executions):
        durable.start(workloads.steps, STEPS)
    durable.run()
