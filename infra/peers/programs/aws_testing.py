"""AWS's durable execution SDK, in its testing package's runner."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

from aws_durable_execution_sdk_python import durable_execution, durable_step
from aws_durable_execution_sdk_python_testing import DurableFunctionTestRunner


def _work(context: Any, number: int) -> str:
    return str(number) * 100


def _many(event: Any, context: Any) -> str:
    for number in range(int(event)):
        context.step(work(number))
    return "done"


work = durable_step(_work)
many = durable_execution(_many)


def run(executions: int, steps: int) -> None:
    for _ in range(executions):
        with DurableFunctionTestRunner(handler=many) as runner:
            result = runner.run(input=str(steps))
        assert result.result == '"done"', result


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    executions, steps = int(sys.argv[1]), int(sys.argv[2])
    run(1, steps)
    started = time.perf_counter()
    run(executions, steps)
    print(time.perf_counter() - started)
