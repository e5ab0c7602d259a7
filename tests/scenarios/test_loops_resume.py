"""A process that dies in a turn of a loop resumes in that turn, with its steps and the state that it began with."""

from __future__ import annotations

from typing import Any

import pytest

from durable import Break, Context, Continue, Step, workflow
from durable.runtime.client.history_view import RollbackOutcome
from durable.testing import Harness
from tests.scenarios.code import Code
from tests.scenarios.misfortune import struck_everywhere
from tests.scenarios.outside import Outside
from tests.scenarios.sagas import Saga


@pytest.mark.rule("L4")
@pytest.mark.parametrize("prune_every", [1, 2, 20])
def test_it_resumes_in_that_turn_with_what_it_had(prune_every: int) -> None:
    began: list[tuple[int, list[str]]] = []

    def turn(ctx: Context, paths: list[str]) -> Continue[list[str]] | Break[list[str]]:
        began.append((len(paths), paths))
        paths = [*paths, ctx.step("a", lambda step: f"{step.path} {step.attempt}")]
        paths = [*paths, ctx.step("b", lambda step: f"{step.path} {step.attempt}")]
        return Break(paths) if len(paths) == 8 else Continue(paths)

    @workflow
    def order(ctx: Context) -> list[str]:
        begin: list[str] = []
        return ctx.loop("turns", turn, state=begin, prune_every=prune_every)

    with Harness(workflows=[order], steps_per_invocation=99) as durable:
        execution = durable.start(order)
        durable.faults.in_body(1, durable.faults.die, path="turns[2]/b")
        durable.deliver_once()
        assert durable.invocations[-1].died
        before = len(began)
        durable.run()

        assert execution.output == [f"turns[{number}]/{name} 1" for number in range(4) for name in "ab"]
        assert durable.faults.bodies.count("turns[2]/b") == 2
        assert len(durable.faults.bodies) == 9
        resumed = {1: 2, 2: 2, 20: 0}[prune_every]  # turns since the last pruning run again, over recorded steps
        assert [length // 2 for length, _ in began[before:]] == list(range(resumed, 4))
        assert began[before:] == began[resumed:3] + began[-1:]


def saga(outside: Outside) -> Saga:
    """A loop within a loop, pruned often, with a step before, after and in between."""

    def do(step: Step[dict[str, int]]) -> str:
        step.state["steps"] = step.state.get("steps", 0) + 1
        return outside.do(step)

    def inner(ctx: Context[dict[str, int]], number: int) -> Continue[int] | Break[int]:
        ctx.step("deep", do)
        return Break(number) if number == 1 else Continue(number + 1)

    def outer(ctx: Context[dict[str, int]], number: int) -> Continue[int] | Break[str]:
        if number == 1:
            return Break(ctx.step("end", do))
        ctx.step("begin", do)
        ctx.loop("inner", inner, state=0, prune_every=1)
        ctx.sleep("nap", 60)
        return Continue(number + 1)

    @workflow(state=dict[str, int])
    def loops(ctx: Context[dict[str, int]]) -> str:
        return ctx.loop("outer", outer, state=0, prune_every=1)

    effects = ["outer[0]/begin", "outer[0]/inner[0]/deep", "outer[0]/inner[1]/deep", "outer[1]/end"]
    return Saga(loops, "completed", "outer[1]/end", None, RollbackOutcome("none"), effects, {"steps": 4})


@pytest.mark.rule("L4", "L5", "D2", "E3")
@pytest.mark.parametrize("chunk", range(2))
def test_it_ends_as_it_should_wherever_its_process_dies(chunk: int) -> None:
    assert struck_everywhere(saga, 2, chunk, 2) == []


@pytest.mark.rule("L5")
def test_a_turn_replays_after_a_loop_or_a_block_inside_it_is_over() -> None:
    def inner(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.step("deep", lambda step: None)
        return Break(number) if number == 2 else Continue(number + 1)

    def outer(ctx: Context, number: int) -> Continue[int] | Break[list[Any]]:
        counted = ctx.loop("inner", inner, state=0, prune_every=2)
        block = ctx.try_block("block", lambda ctx: ctx.loop("inner", inner, state=1, keep=2)).value
        ctx.sleep("nap", 60)
        again = ctx.step("after", lambda step: step.path)
        return Break([counted, block, again]) if number == 2 else Continue(number + 1)

    @workflow
    def order(ctx: Context) -> list[Any]:
        return ctx.loop("outer", outer, state=0)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", [2, 2, "outer[2]/after"])
        assert len(durable.faults.bodies) == len(set(durable.faults.bodies)) == 3 * (3 + 2 + 1)


@pytest.mark.rule("D6", "L5")
def test_code_that_changed_inside_a_turn_diverges_there_and_mended_goes_on() -> None:
    def turns(before_sleep: str) -> Any:
        def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
            ctx.step(before_sleep, lambda step: None)
            ctx.sleep("nap", 60)
            return Break(number) if number == 3 else Continue(number + 1)

        return lambda ctx: ctx.loop("turns", turn, state=0, prune_every=2)

    code = Code(turns("charge"))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=150)  # the third turn sleeps, two are pruned
        code.deployed = turns("bill")
        durable.run()
        assert (execution.status, execution.error.details["path"], execution.error.details["requested"]) == (
            "diverged",
            "turns[2]/charge",
            "a new step 'turns[2]/bill'",
        )

        code.deployed = turns("charge")
        execution.resume()
        durable.run()
        assert (execution.status, execution.output) == ("completed", 3)
        assert durable.faults.bodies == [f"turns[{number}]/charge" for number in range(4)]


@pytest.mark.rule("D6")
def test_a_recorded_step_that_a_turn_no_longer_reaches_is_a_divergence_although_the_turn_ends() -> None:
    def turns(leaves_out: bool) -> Any:
        def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
            if not leaves_out:
                ctx.step("charge", lambda step: None)
            if number == 1:
                ctx.sleep("nap", 60)
                return Break(number)
            return Continue(number + 1)

        return lambda ctx: ctx.loop("turns", turn, state=0)

    code = Code(turns(False))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = turns(True)
        durable.run()

        assert (execution.status, execution.error.details["path"], execution.error.details["requested"]) == (
            "diverged",
            "turns[0]/charge",
            "the end of 'turns[0]'",
        )
