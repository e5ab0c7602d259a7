"""`ctx.removed` stands in for an operation that the code no longer has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from durable import Break, Context, InvalidCall, Undo
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("D7")

NAME = "a/b[1]#2"  # a name in which the separators of paths are


def count_to(turns: int) -> Callable[[Context], Break[int] | None]:
    def turn(ctx: Context) -> Break[int] | None:
        number = ctx.step("turn", lambda step: int(step.path.split("[")[-1].split("]")[0]))
        return Break(number) if number == turns - 1 else None

    return turn


def answered(ctx: Context, name: str) -> None:
    message = ctx.queue.next(name, "questions", completable=True)
    message.complete("yes")


OLD: list[tuple[str, Callable[[Context, str], Any]]] = [
    ("step", lambda ctx, name: ctx.step(name, lambda step: "done")),
    ("sleep", lambda ctx, name: ctx.sleep(name, 60)),
    ("queue", lambda ctx, name: ctx.queue.next_batch(name, "questions", timeout=5)),
    ("queue", answered),
    ("loop", lambda ctx, name: ctx.loop(name, count_to(3))),
    ("loop", lambda ctx, name: ctx.loop(name, count_to(5), prune_every=2, keep=1)),
    ("wait_for", lambda ctx, name: ctx.wait_for(name, lambda step: "there" if step.path[-8] == "2" else None, every=9)),
    ("block", lambda ctx, name: ctx.try_block(name, lambda ctx: ctx.step("inner", lambda step: "done"))),
    ("version", lambda ctx, name: ctx.version(name, 3)),
    ("checkpoint", lambda ctx, name: ctx.rollback_checkpoint(name)),
]


@pytest.mark.parametrize(("kind", "operation"), OLD)
def test_an_execution_that_recorded_it_goes_on_without_and_a_new_one_does_not_miss_it(
    kind: str, operation: Callable[[Context, str], Any]
) -> None:
    def old(ctx: Context) -> str:
        ctx.step("first", lambda step: None)
        operation(ctx, NAME)
        ctx.sleep("pause", 600)
        return "old"

    def new(ctx: Context) -> str:
        ctx.step("first", lambda step: None)
        ctx.removed(NAME, kind)
        ctx.sleep("pause", 600)
        return ctx.step("last", lambda step: "new")

    code = Code(old)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        execution.send("questions", "really?")
        durable.run(duration=300)
        assert execution.status == "waiting"
        bodies = list(durable.faults.bodies)

        code.deployed = new
        fresh = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.output) == ("completed", "new")
        assert (fresh.status, fresh.output, [entry.path for entry in fresh.history]) == (
            "completed",
            "new",
            ["first", "pause", "last"],
        )
        assert durable.faults.bodies == [*bodies, "first", "last", "last"]


def test_it_holds_the_place_of_a_name_that_is_used_again() -> None:
    def old(ctx: Context) -> list[str]:
        paths = [ctx.step("embed", lambda step: step.path) for _ in range(3)]
        ctx.sleep("pause", 60)
        return paths

    def new(ctx: Context) -> list[str]:
        ctx.removed("embed", "step")
        paths = [ctx.step("embed", lambda step: step.path) for _ in range(2)]
        ctx.sleep("pause", 60)
        return paths

    code = Code(old)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = new
        fresh = durable.start(code.workflow)
        durable.run()

        assert execution.output == fresh.output == ["embed#2", "embed#3"]
        assert durable.faults.bodies.count("embed") == 1


@pytest.mark.rule("D6")
def test_something_else_in_its_place_is_a_divergence_that_names_both() -> None:
    def old(ctx: Context) -> None:
        ctx.step("gone", lambda step: None)
        ctx.sleep("pause", 60)

    def new(ctx: Context) -> None:
        ctx.removed("gone", "sleep")
        ctx.sleep("pause", 60)

    code = Code(old)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = new
        durable.run()

        assert (execution.status, execution.error.details) == (
            "diverged",
            {"path": "gone", "recorded": "a step", "requested": "a removed sleep"},
        )


@pytest.mark.rule("D6", "R16")
def test_a_compensation_that_was_removed_with_its_step_is_missed_and_not_passed_over() -> None:
    undone: list[str] = []

    def undo(undo: Undo) -> None:
        undone.append(undo.path)

    def old(ctx: Context) -> None:
        ctx.step("gone", lambda step: None, rollback=undo)
        ctx.step("stays", lambda step: None, rollback=undo)
        ctx.sleep("pause", 60)
        raise ValueError("later")

    def new(ctx: Context) -> None:
        ctx.removed("gone", "step")
        ctx.step("stays", lambda step: None, rollback=undo)
        ctx.sleep("pause", 60)
        raise ValueError("later")

    code = Code(old)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = new
        durable.run()
        assert (execution.status, execution.error.details["path"], undone) == ("diverged", "gone", [])

        code.deployed = old
        execution.resume()
        durable.run()
        assert (execution.status, undone) == ("failed", ["stays", "gone"])


@pytest.mark.parametrize("kind", ["steps", "", None, "rollback"])
def test_a_kind_that_does_not_exist_is_refused_at_the_call(kind: Any) -> None:
    def code(ctx: Context) -> str:
        try:
            ctx.removed("gone", kind)
        except InvalidCall as error:
            return str(error)
        return "taken"

    deployed = Code(code)
    with Harness(workflows=[deployed.workflow]) as durable:
        execution = durable.start(deployed.workflow)
        durable.run()

        assert execution.output.startswith("removed 'gone': kind is one of block, checkpoint, loop, queue,")
