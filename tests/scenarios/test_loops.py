"""A loop: each turn is a scope of its own, and its body says how it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from durable import Break, Context, Continue, ErrorInfo, InvalidCall, StepFailed, TerminalError, WrongThread, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("L1")


@dataclass(frozen=True)
class Tally:
    total: int = 0
    seen: tuple[str, ...] = ()


def count(ctx: Context, tally: Tally) -> Continue[Tally] | Break[Tally]:
    path = ctx.step("count", lambda step: step.path)
    tally = replace(tally, total=tally.total + 1, seen=(*tally.seen, path))
    return Break(tally) if tally.total == 3 else Continue(tally)


def test_it_carries_its_state_from_turn_to_turn_and_returns_what_it_breaks_with() -> None:
    seen: list[Tally] = []

    @workflow
    def order(ctx: Context) -> None:
        seen.append(ctx.loop("turns", count, state=Tally()))
        ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=9) as durable:
        execution = durable.start(order)
        durable.run()

        tally = Tally(3, ("turns[0]/count", "turns[1]/count", "turns[2]/count"))
        assert (execution.status, seen) == ("completed", [tally, tally])
        assert len(durable.faults.bodies) == 3


def test_without_a_state_a_body_may_return_nothing_to_go_on() -> None:
    @workflow
    def order(ctx: Context) -> list[Any]:
        answers: list[Any] = [None, Continue(), Break()]
        return [ctx.loop("turns", lambda ctx: answers.pop(0)), answers, ctx.loop("once", lambda ctx: Break(7))]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == [None, [], 7]


@pytest.mark.rule("L2", "D5")
def test_names_may_repeat_from_turn_to_turn_and_within_one() -> None:
    def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
        for _ in range(2):
            ctx.step("embed", lambda step: None)
        return Continue(number + 1) if number < 1 else Break(number)

    @workflow
    def order(ctx: Context) -> None:
        for _ in range(2):
            ctx.loop("turns", turn, state=0, keep=9)

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

        assert durable.faults.bodies == [
            f"{loop}[{number}]/{step}"
            for loop in ("turns", "turns#2")
            for number in (0, 1)
            for step in ("embed", "embed#2")
        ]


@pytest.mark.rule("D3")
def test_a_turn_sees_the_state_as_a_replay_of_it_would() -> None:
    """What is changed in place after it was handed on is lost at once, and not at the first crash."""
    kept: list[list[int]] = []

    def turn(ctx: Context, numbers: list[int]) -> Continue[list[int]] | Break[list[int]]:
        if len(numbers) == 3:
            return Break(numbers)
        kept.append(numbers)
        following = [*numbers, len(numbers)]
        kept.append(following)
        for earlier in kept[:-1]:
            earlier.append(99)
        return Continue(following)

    @workflow
    def order(ctx: Context) -> list[int]:
        begin: list[int] = []
        return ctx.loop("turns", turn, state=begin)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == [0, 1, 2]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "loop 'turns' has a state, and its body returned None: return Continue(state) or Break(value)"),
        (7, "the body of loop 'turns' returned int: return Continue(state), Break(value), or, in a loop without state"),
        (Continue, "the body of loop 'turns' returned type: return Continue(state), Break(value)"),
        (True, "the body of loop 'turns' returned bool: "),
    ],
)
def test_a_body_that_does_not_say_how_to_go_on_fails_the_execution(returned: Any, message: str) -> None:
    undone: list[str] = []

    def turn(ctx: Context, state: int) -> Any:
        ctx.step("reserve", lambda step: None, rollback=lambda undo: undone.append(undo.path))
        return returned

    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("turns", turn, state=0)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type) == ("failed", "InvalidCall")
        assert (execution.error.message.startswith(message), undone) == (True, ["turns[0]/reserve"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ctx: ctx.loop("turns", 5), "loop 'turns': the body is not callable: 5. Pass the function itself."),
        (lambda ctx: ctx.loop("turns", count, prune_every=0), "loop 'turns': prune_every is a whole number from 1"),
        (lambda ctx: ctx.loop("turns", count, prune_every=1.5), "loop 'turns': prune_every is a whole number from 1"),
        (lambda ctx: ctx.loop("turns", count, keep=-1), "loop 'turns': keep is a whole number from 0, not -1"),
    ],
)
def test_a_loop_that_can_not_be_is_refused_at_the_call(call: Callable[[Context], Any], message: str) -> None:
    @workflow
    def order(ctx: Context) -> str:
        try:
            call(ctx)
        except InvalidCall as error:
            return str(error)
        return "taken"

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output.startswith(message)


@pytest.mark.rule("S12")
def test_a_state_that_can_not_be_stored_is_a_clear_failure() -> None:
    @workflow
    def order(ctx: Context) -> None:
        begin: dict[str, object] = {}
        ctx.loop("turns", lambda ctx, state: Continue({"socket": object()}), state=begin)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type, execution.error.details["path"]) == (
            "failed",
            "CodecError",
            "$.socket",
        )


@pytest.mark.rule("D4")
def test_a_failure_in_a_turn_is_the_loop_s_and_can_be_caught() -> None:
    def refused(step: Any) -> None:
        raise TerminalError("no card")

    def turn(ctx: Context, number: int) -> Continue[int]:
        if number == 2:
            ctx.step("charge", refused)
        return Continue(number + 1)

    @workflow
    def order(ctx: Context) -> str:
        try:
            ctx.loop("turns", turn, state=0)
        except StepFailed as failed:
            ctx.step("after", lambda step: None)
            return f"{failed.step} {failed.kind} {failed.error}"
        return "never"

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == f"turns[2]/charge critical {ErrorInfo('TerminalError', 'no card')}"


@pytest.mark.rule("D11")
def test_a_turn_s_context_is_of_no_use_in_the_next_turn() -> None:
    kept: list[Context] = []

    def turn(ctx: Context) -> Break[str] | None:
        if kept:
            try:
                kept[0].sleep("late", 1)
            except WrongThread as error:
                return Break(str(error))
        kept.append(ctx)
        return None

    @workflow
    def order(ctx: Context) -> str:
        return ctx.loop("turns", turn)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output.startswith("the context of 'turns[0]' was used after its scope had ended")
