"""A loop forgets: however many turns it has made, its history, its items and its calls a turn stay as few as at first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from durable import Break, Context, Continue, Step, workflow
from durable.testing import Harness
from tests.scenarios.table import items

pytestmark = pytest.mark.rule("L3")

TURNS = 60
TEXT = "x" * 400


def write(step: Step, number: int) -> str:
    return f"{number} {TEXT}"


def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
    ctx.step("one", write, number)
    ctx.step("two", write, number)
    return Break(number) if number == TURNS - 1 else Continue(number + 1)


def test_a_long_loop_has_few_items_few_bytes_and_as_many_calls_a_turn_at_the_end_as_at_the_beginning() -> None:
    @workflow
    def order(ctx: Context) -> int:
        return ctx.loop("turns", turn, state=0, prune_every=5)

    with Harness(workflows=[order], steps_per_invocation=10) as durable:  # five turns
        execution = durable.start(order)
        held: list[Mapping[str, int]] = []
        calls: list[int] = []
        loaded: list[int] = []
        while durable.messages():
            before = len(durable.calls)
            durable.deliver_once()
            made = [call for call in durable.calls[before:] if call.by == "Worker"]
            calls.append(len(made))
            loaded.append(sum(call.response_bytes for call in made))
            held.append(items(durable, execution.id))

        assert (execution.status, execution.output) == ("completed", TURNS - 1)
        assert len(held) == TURNS // 5 + 1
        late = held[3:]
        assert max(map(len, late)) <= max(map(len, held[:3])) + 1
        assert max(sum(each.values()) for each in late) <= 1.2 * max(sum(each.values()) for each in held[:3])
        assert max(calls[3:]) <= max(calls[:3]) + 1
        assert max(loaded[3:]) <= 1.2 * max(loaded[:3])
        assert len(held[-1]) <= 2


def test_past_turns_are_gone_from_the_history_but_for_those_that_are_to_be_kept() -> None:
    def counting(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.step("one", write, number)
        return Break(number) if number == 24 else Continue(number + 1)

    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("forgets", counting, state=0)
        ctx.loop("keeps", counting, state=0, keep=3)

    with Harness(workflows=[order], steps_per_invocation=99) as durable:
        execution = durable.start(order)
        durable.run()

        assert [(entry.path, entry.kind, entry.output) for entry in execution.history if entry.kind == "loop"] == [
            ("forgets", "loop", 24),
            ("keeps", "loop", 24),
        ]
        assert [entry.path for entry in execution.history if entry.kind == "step"] == [
            f"keeps[{number}]/one" for number in (22, 23, 24)
        ]


@pytest.mark.parametrize("turns", [1, 2, 19, 20, 21])
def test_they_are_pruned_at_the_end_of_a_short_loop_too(turns: int) -> None:
    def counting(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.step("one", lambda step: None)
        return Break(number) if number == turns - 1 else Continue(number + 1)

    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("turns", counting, state=0)
        ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=99) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, [entry.path for entry in execution.history]) == ("completed", ["turns", "pause"])
        assert len(durable.faults.bodies) == turns


def test_a_loop_in_a_loop_is_forgotten_with_its_turn() -> None:
    def inner(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.step("deep", lambda step: None)
        return Break(number) if number == 4 else Continue(number + 1)

    def outer(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.loop("inner", inner, state=0, prune_every=2)
        return Break(number) if number == 7 else Continue(number + 1)

    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("outer", outer, state=0, prune_every=2)

    with Harness(workflows=[order], steps_per_invocation=3) as durable:
        execution = durable.start(order)
        longest = 0
        while durable.messages():
            durable.deliver_once()
            longest = max(longest, len(execution.history))

        assert (execution.status, [entry.path for entry in execution.history]) == ("completed", ["outer"])
        assert longest <= 12
        assert Counter(durable.faults.bodies).most_common(1)[0][1] == 1


def test_a_replay_starts_at_the_last_pruning_and_not_at_the_first_turn() -> None:
    began: list[int] = []

    def counting(ctx: Context, number: int) -> Continue[int] | Break[int]:
        began.append(number)
        ctx.step("one", lambda step: None)
        return Break(number) if number == 199 else Continue(number + 1)

    @workflow
    def order(ctx: Context) -> Any:
        return ctx.loop("turns", counting, state=0)

    with Harness(workflows=[order], steps_per_invocation=50) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == 199
        assert len(began) <= 200 + 6 * 20


def test_messages_that_turns_have_taken_leave_the_table() -> None:
    @workflow
    def order(ctx: Context) -> int:
        def take(ctx: Context, number: int) -> Continue[int] | Break[int]:
            message = ctx.queue.next("wait", "numbers", body=int)
            ctx.step("add", lambda step: None)
            return Break(number) if message.body == 29 else Continue(number + 1)

        return ctx.loop("turns", take, state=0, prune_every=5)

    with Harness(workflows=[order], steps_per_invocation=7) as durable:
        execution = durable.start(order)
        for number in range(30):
            execution.send("numbers", number)
        durable.run()

        assert (execution.output, execution.status) == (29, "completed")
        assert len(items(durable, execution.id)) <= 2
