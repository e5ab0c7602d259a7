"""`async def` bodies run to their end in their step."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from durable import Context, Retry, RollbackError, Step, TerminalError, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("S14")


async def fetch(step: Step, name: str) -> dict[str, int]:
    results = await asyncio.gather(*(length(name) for _ in range(3)))
    return {name: sum(results)}


async def length(name: str) -> int:
    await asyncio.sleep(0)
    return len(name)


async def flaky(step: Step) -> int:
    await asyncio.sleep(0)
    if step.attempt == 1:
        raise OSError("no line")
    return step.attempt


def test_their_result_is_recorded_once() -> None:
    seen: list[dict[str, int]] = []

    @workflow
    def order(ctx: Context) -> None:
        seen.append(ctx.step("fetch", fetch, "abc"))
        ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, seen, durable.faults.bodies) == ("completed", [{"abc": 9}] * 2, ["fetch"])


def test_their_errors_are_retried() -> None:
    @workflow
    def order(ctx: Context) -> int:
        return ctx.step("flaky", flaky)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", 2)


@pytest.mark.rule("S4")
def test_their_timeout_ends_them() -> None:
    ended: list[str] = []

    async def spin(step: Step) -> None:
        try:
            while True:
                await asyncio.sleep(0.005)
        finally:
            ended.append(step.name)

    @workflow
    def order(ctx: Context) -> str:
        return ctx.try_step("spin", spin, timeout=0.2, retry=Retry(0)).failure.kind

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.output, ended) == ("timeout", ["spin"])


def test_rollbacks_may_be_async_too() -> None:
    undone: list[dict[str, int] | None] = []

    async def undo(undo: Undo[dict[str, int]], name: str) -> None:
        await asyncio.sleep(0)
        undone.append(undo.output)

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("fetch", fetch, "ab", rollback=undo)
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.rollback.outcome, undone) == ("completed", [{"ab": 6}])


@pytest.mark.rule("S3")
@pytest.mark.parametrize(
    ("errors", "kind", "attempts", "told"),
    [
        ([OSError("no line")], "exhausted", 2, "OSError: no line"),
        ([TerminalError("declined")], "critical", 1, "TerminalError: declined"),
        ([OSError("no line"), TerminalError("declined")], "critical", 1, "TerminalError: declined"),
        ([TerminalError("declined"), RollbackError("undo")], "rollback", 1, "RollbackError: undo"),
        (
            [OSError("a"), OSError("b")],
            "exhausted",
            2,
            "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)",
        ),
    ],
    ids=["one", "for good", "for good among others", "rollback first", "several"],
)
def test_a_task_group_s_errors_count_as_if_they_were_raised_by_themselves(
    errors: list[Exception], kind: str, attempts: int, told: str
) -> None:
    @workflow
    def order(ctx: Context) -> list[Any]:
        async def gather(step: Step) -> None:
            async def fail(error: Exception) -> None:
                raise error

            async with asyncio.TaskGroup() as group:
                for error in errors:
                    group.create_task(fail(error))

        failure = ctx.try_step("gather", gather, retry=Retry(1), catch=["critical", "exhausted", "rollback"]).failure
        return [failure.kind, failure.attempts, str(failure.error)]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == [kind, attempts, told]
