"""This project: a harness over the local store. The third argument: steps an invocation."""

from __future__ import annotations

import logging
import sys
import time

from durable import Context, Step, workflow
from durable.testing import Harness


def work(step: Step, number: int) -> str:
    return str(number) * 100


@workflow
def many(ctx: Context, steps: int) -> str:
    for number in range(steps):
        ctx.step("work", work, number)
    return "done"


def run(durable: Harness, executions: int, steps: int) -> None:
    started = [durable.start(many, steps) for _ in range(executions)]
    durable.run()
    assert [execution.output for execution in started] == ["done"] * executions


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    executions, steps, budget = map(int, sys.argv[1:])
    with Harness(workflows=[many], store="local", steps_per_invocation=budget) as durable:
        run(durable, 1, steps)
        started = time.perf_counter()
        run(durable, executions, steps)
        print(time.perf_counter() - started)
