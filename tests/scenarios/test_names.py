"""Operations are found by their names, and a name that can't be one is refused where it is used."""

from __future__ import annotations

from typing import Any

import pytest

from durable import Break, Context, Continue, InvalidName, Step, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("D5")


def test_names_that_look_like_paths_and_counts_are_kept_apart() -> None:
    names = ["a/b", "a", "a", "a#2", "a[0]", "a%2Fb", "é ✓", "q:count"]

    @workflow
    def order(ctx: Context) -> list[str]:
        inner = ctx.try_block("a", lambda ctx: [ctx.step("b", lambda step: "in a block"), ctx.step("a", str_of)])
        return [ctx.step(name, lambda step: f"{step.path} {name}") for name in names] + inner.value

    def str_of(step: Any) -> str:
        return step.path

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == [
            "a%2Fb a/b",
            "a#2 a",
            "a#3 a",
            "a%232 a#2",
            "a%5B0%5D a[0]",
            "a%252Fb a%2Fb",
            "é ✓ é ✓",
            "q:count q:count",
            "in a block",
            "a/a",
        ]
        assert len(durable.faults.bodies) == len(set(durable.faults.bodies)) == 10


@pytest.mark.rule("D2", "R5", "S6")
@pytest.mark.parametrize("steps", [1, 99])
def test_operations_whose_paths_would_be_spelt_alike_have_records_keys_and_rollbacks_of_their_own(steps: int) -> None:
    keys: dict[str, str] = {}
    undone: list[str] = []

    def put(step: Step, what: str) -> str:
        assert what not in keys
        keys[what] = step.idempotency_key
        return what

    def undo(undo: Undo[str], what: str) -> None:
        assert (undo.output, undo.forward_idempotency_key) == (what, keys[what])
        undone.append(what)

    def take(ctx: Context, name: str, what: str) -> str:
        return ctx.step(name, put, what, rollback=undo)

    def turn(ctx: Context, number: int) -> Continue[int] | Break[str]:
        taken = take(ctx, "b", f"in turn {number}")
        return Break(taken) if number == 1 else Continue(number + 1)

    @workflow
    def order(ctx: Context) -> list[str]:
        found = [
            ctx.loop("a", turn, state=0, keep=9),  # a[0]/b and a[1]/b
            ctx.try_block("a[1]", take, "b", "in a block that is spelt like a turn").value,
            ctx.try_block("a", lambda ctx: take(ctx, "b", "in a second a")).value,  # a#2/b
            ctx.try_block("a#2", take, "b", "in a block that is spelt like a second a").value,
            *(take(ctx, name, f"a step {name}") for name in ("a[1]/b", "a[1]", "a#2/b", "a#2", "a%232", "[", "]", "#")),
            ctx.try_block("a", lambda ctx: take(ctx, "#2", "in a third a")).value,  # a#3/%232
        ]
        ctx.sleep("pause", 60)
        if len(found) == 13:
            raise ValueError(" | ".join(found))
        return found

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        execution = durable.start(order)
        durable.run()

        begun = ["in turn 0", *execution.error.message.split(" | ")]
        assert begun == list(keys)
        assert (undone, len(set(keys.values()))) == (begun[::-1], 14)
        assert len(set(durable.faults.bodies)) == 14


def test_a_repeated_name_is_counted_over_steps_and_sleeps_alike() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("wait", lambda step: None)
        ctx.sleep("wait", 60)
        ctx.step("wait", lambda step: None)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert [(entry.path, entry.kind) for entry in execution.history] == [
            ("wait", "step"),
            ("wait#2", "sleep"),
            ("wait#3", "step"),
        ]


BAD: list[Any] = ["", "x" * 257, "é" * 129, 7, None, b"charge", "\ud800", ["charge"]]


@pytest.mark.parametrize("operation", ["step", "try_step", "sleep", "try_block", "loop"])
def test_a_bad_name_is_refused_at_the_call_and_shifts_nothing(operation: str) -> None:
    refused: list[Any] = []
    argument: Any = 60 if operation == "sleep" else lambda inner: None

    @workflow
    def order(ctx: Context) -> str:
        for name in BAD:
            try:
                getattr(ctx, operation)(name, argument)
            except InvalidName:
                refused.append(name)
        return ctx.step("good", lambda step: step.path)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.output, refused, durable.faults.bodies) == ("good", BAD, ["good"])


def test_a_name_of_the_greatest_length_can_be_used_once_and_not_counted() -> None:
    @workflow
    def order(ctx: Context) -> str:
        ctx.step("x" * 256, lambda step: None)
        ctx.step("x" * 256, lambda step: None)
        return "never"

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type) == ("failed", "InvalidName")
        assert "is 258 bytes with its suffix; at most 256 fit" in execution.error.message
