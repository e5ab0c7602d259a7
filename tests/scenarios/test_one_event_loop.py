"""One event loop serves every `async def` body of a process, so that a client which is kept serves all of them."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from durable import Context, Retry, Step, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("S14")

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="none")


class Pool:
    """A client as libraries have them: bound to the loop on which it first has to wait, with a task of its own."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.requests: asyncio.Queue[asyncio.Future[str]] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None
        self.served = 0

    async def get(self) -> str:
        if self.task is None:
            self.task = asyncio.create_task(self._serve())
        async with self.lock:
            answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            await self.requests.put(answer)
            return await answer

    async def _serve(self) -> None:
        while True:
            answer = await self.requests.get()
            await asyncio.sleep(0)
            self.served += 1
            answer.set_result(f"answer {self.served}")


async def ask(step: Step, pool: Pool) -> list[str]:
    return sorted(await asyncio.gather(pool.get(), pool.get(), pool.get()))


@pytest.mark.parametrize("steps", [1, 9])
def test_a_client_that_is_kept_serves_every_step_rollback_and_execution(steps: int) -> None:
    pool = Pool()
    undone: list[str] = []

    async def undo(undo: Undo) -> None:
        undone.append(await pool.get())

    @workflow
    def order(ctx: Context) -> None:
        for _ in range(3):
            ctx.step("ask", lambda step: ask(step, pool), rollback=undo)
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        first = durable.start(order)
        durable.run()
        second = durable.start(order)
        durable.run()

        outcomes = [(execution.error.type, execution.rollback.outcome) for execution in (first, second)]
        assert outcomes == [("ValueError", "completed")] * 2
        assert (undone, pool.served) == (
            ["answer 10", "answer 11", "answer 12", "answer 22", "answer 23", "answer 24"],
            24,
        )


def stops_the_loop(step: Step) -> Any:
    async def stop() -> None:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0.01)

    return stop()


def exits(step: Step) -> Any:
    async def leave() -> None:
        raise SystemExit(3)

    return leave()


def exits_in_a_task(step: Step) -> Any:
    async def leave() -> None:
        raise SystemExit(3)

    async def body() -> None:
        await asyncio.create_task(leave())

    return body()


def leaves_a_task_that_exits(step: Step) -> Any:
    async def leave() -> None:
        await asyncio.sleep(0.01)
        raise SystemExit(3)

    async def body() -> None:
        kept.append(asyncio.create_task(leave()))

    return body()


def cancels_itself(step: Step) -> Any:
    async def body() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    return body()


kept: list[Any] = []


@pytest.mark.parametrize(
    "spoil",
    [stops_the_loop, exits, exits_in_a_task, leaves_a_task_that_exits, cancels_itself],
    ids=lambda spoil: spoil.__name__,
)
def test_a_body_that_does_its_worst_leaves_the_loop_to_the_others(spoil: Callable[[Step], Any]) -> None:
    pool = Pool()

    @workflow
    def order(ctx: Context) -> list[str]:
        ctx.step("before", lambda step: ask(step, pool))
        ctx.try_step("spoil", spoil, retry=Retry(1, backoff_base=0), timeout=5)
        ctx.step("wait", lambda step: time.sleep(0.05))
        return ctx.step("after", lambda step: ask(step, pool))

    with Harness(workflows=[order], steps_per_invocation=9) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == ["answer 4", "answer 5", "answer 6"]
    kept.clear()
    gc.collect()


@pytest.mark.rule("S4")
def test_a_body_that_its_timeout_ends_leaves_the_loop_to_the_others() -> None:
    pool = Pool()
    ended: list[str] = []

    async def slow(step: Step) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(step.name)

    @workflow
    def order(ctx: Context) -> list[str]:
        ctx.step("before", lambda step: ask(step, pool))
        ctx.try_step("slow", slow, timeout=0.1)
        return ctx.step("after", lambda step: ask(step, pool))

    with Harness(workflows=[order], steps_per_invocation=9) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.output, ended) == (["answer 4", "answer 5", "answer 6"], ["slow"])


@pytest.mark.rule("S4")
def test_a_body_that_blocks_the_loop_goes_down_with_its_process() -> None:
    released = threading.Event()
    died: list[bool] = []

    async def deaf(step: Step) -> int:
        if step.attempt == 1:
            released.wait(10)
        await asyncio.sleep(0)
        return step.attempt

    @workflow
    def order(ctx: Context) -> int:
        return ctx.step("deaf", deaf, timeout=0.1, retry=Retry(1, on_timeout=True))

    try:
        with Harness(workflows=[order]) as durable:
            execution = durable.start(order)
            durable.run()

            died += [invocation.died for invocation in durable.invocations if invocation.function == "Worker"]
            assert (execution.output, died[0]) == (2, True)
    finally:
        released.set()


def test_what_a_body_sets_in_its_context_is_its_own() -> None:
    seen: list[str] = []

    async def look(step: Step) -> None:
        seen.append(request_id.get())
        request_id.set(step.name)
        await asyncio.sleep(0)
        seen.append(request_id.get())

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("one", look)
        ctx.step("two", look)

    with Harness(workflows=[order], steps_per_invocation=9) as durable:
        durable.start(order)
        durable.run()

    assert (seen, request_id.get()) == (["none", "one", "none", "two"], "none")


def test_there_is_one_thread_for_all_of_them() -> None:
    threads: set[int] = set()

    async def look(step: Step) -> None:
        threads.add(threading.get_ident())

    @workflow
    def order(ctx: Context) -> None:
        for _ in range(3):
            ctx.step("look", look)

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

    assert len(threads) == 1
    assert threads != {threading.get_ident()}
