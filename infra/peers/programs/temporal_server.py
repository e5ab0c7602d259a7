"""Temporal, with the development server that the `temporal` command starts, over SQLite in memory."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker


async def _work(number: int) -> str:
    return str(number) * 100


class _Many:
    async def run(self, steps: int) -> str:
        for number in range(steps):
            await workflow.execute_activity(work, number, start_to_close_timeout=timedelta(seconds=10))
        return "done"

    run = workflow.run(run)


work = activity.defn(name="work")(_work)
many: Any = workflow.defn(name="many", sandboxed=False)(_Many)


async def run(client: Any, executions: int, steps: int, name: str) -> None:
    started = [
        client.execute_workflow(many.run, steps, id=f"{name}-{number}", task_queue="bench")
        for number in range(executions)
    ]
    assert await asyncio.gather(*started) == ["done"] * executions


async def main(executions: int, steps: int) -> None:
    async with (
        await WorkflowEnvironment.start_local(dev_server_existing_path=shutil.which("temporal")) as environment,
        Worker(environment.client, task_queue="bench", workflows=[many], activities=[work]),
    ):
        await run(environment.client, 1, steps, "first")
        started = time.perf_counter()
        await run(environment.client, executions, steps, "measured")
        print(time.perf_counter() - started)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
