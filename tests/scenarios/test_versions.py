"""`ctx.version` pins a change: an execution takes the way that it began with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from durable import Break, Context, InvalidCall, Step
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("D7")


def gated(latest: int) -> Callable[[Context], str]:
    """Code whose gate has this version as its latest."""

    def code(ctx: Context) -> str:
        ctx.step("first", lambda step: None)
        way = ctx.version("pricing", latest)
        ctx.step(f"price by way {way}", lambda step: None)
        ctx.sleep("pause", 60)
        return f"{way}, {ctx.version('receipt', latest)}"

    return code


def ungated(ctx: Context) -> str:
    ctx.step("first", lambda step: None)
    ctx.step("price by way 1", lambda step: None)
    ctx.sleep("pause", 60)
    return "1"


def test_a_new_execution_takes_the_latest_and_keeps_it() -> None:
    code = Code(gated(2))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = gated(3)
        later = durable.start(code.workflow)
        durable.run()

        assert (execution.output, later.output) == ("2, 3", "3, 3")
        assert [(entry.path, entry.kind, entry.output) for entry in execution.history if entry.kind == "version"] == [
            ("pricing", "version", 2),
            ("receipt", "version", 3),
        ]


def test_one_that_was_past_the_gate_before_there_was_one_takes_the_first() -> None:
    code = Code(ungated)
    with Harness(workflows=[code.workflow]) as durable:
        past = durable.start(code.workflow)
        durable.run(duration=30)
        before = durable.start(code.workflow)
        durable.deliver_once()
        code.deployed = gated(2)
        durable.run()

        assert (past.output, before.output) == ("1, 2", "2, 2")
        assert durable.faults.bodies == ["first", "price by way 1", "first", "price by way 2"]


def test_each_iteration_of_a_loop_decides_for_itself() -> None:
    def turns(body: Callable[[Context], str]) -> Callable[[Context], list[str]]:
        def code(ctx: Context) -> list[str]:
            seen: list[str] = []

            def turn(ctx: Context) -> Break[None] | None:
                seen.append(body(ctx))
                return Break() if len(seen) == 3 else None

            ctx.loop("turns", turn)
            return seen

        return code

    def old(ctx: Context) -> str:
        ctx.step("old", lambda step: None)
        ctx.sleep("pause", 60)
        return "old"

    def new(ctx: Context) -> str:
        way = ctx.version("way", 2)
        ctx.step("old" if way == 1 else "new", lambda step: None)
        ctx.sleep("pause", 60)
        return f"way {way}"

    code = Code(turns(old))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=90)  # the second iteration sleeps
        code.deployed = turns(new)
        durable.run()

        assert execution.output == ["way 1", "way 1", "way 2"]


def test_a_gate_at_the_end_of_a_block_that_the_execution_has_left_is_behind_it_too() -> None:
    def old(ctx: Context) -> str:
        ctx.try_block("flow", lambda ctx: ctx.step("charge", lambda step: None))
        ctx.step("after", lambda step: None)
        ctx.sleep("pause", 60)
        return "old"

    def new(ctx: Context) -> str:
        def flow(ctx: Context) -> int:
            ctx.step("charge", lambda step: None)
            way = ctx.version("way", 2)
            if way == 2:
                ctx.step("capture", lambda step: None)
            return way

        way = ctx.try_block("flow", flow).value
        ctx.step("after", lambda step: None)
        ctx.sleep("pause", 60)
        return f"way {way}"

    code = Code(old)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = new
        durable.run()

        assert (execution.status, execution.output) == ("completed", "way 1")


def test_it_is_recorded_before_a_later_body_so_that_a_crash_does_not_change_the_way() -> None:
    code = Code(gated(2))
    with Harness(workflows=[code.workflow], steps_per_invocation=5) as durable:
        execution = durable.start(code.workflow)
        durable.faults.in_body(1, durable.faults.die, path="price by way 2")
        durable.deliver_once()

        code.deployed = gated(3)
        durable.run()

        assert execution.output == "2, 3"
        assert durable.faults.bodies == ["first", "price by way 2", "price by way 2"]


@pytest.mark.rule("R4")
def test_a_step_behind_a_gate_that_is_not_recorded_has_not_started_and_is_not_rolled_back() -> None:
    undone: list[str] = []

    def code(ctx: Context) -> None:
        ctx.version("way", 2)
        ctx.step("charge", lambda step: None, rollback=lambda undo: undone.append(undo.path))

    deployed = Code(code)
    with Harness(workflows=[deployed.workflow]) as durable:
        execution = durable.start(deployed.workflow)
        claim = 1
        durable.faults.after(claim, durable.faults.die, operation="UpdateItem", by="Worker")
        durable.deliver_once()
        execution.cancel()
        durable.run()

        assert (execution.status, undone, durable.faults.bodies) == ("cancelled", [], [])


@pytest.mark.rule("D6")
def test_another_operation_in_its_place_is_a_divergence() -> None:
    def old(ctx: Context) -> None:
        ctx.step("way", lambda step: None)
        ctx.sleep("pause", 60)

    def new(ctx: Context) -> None:
        ctx.version("way", 2)
        ctx.sleep("pause", 60)

    code = Code(old)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = new
        durable.run()

        assert (execution.status, execution.error.details["recorded"], execution.error.details["requested"]) == (
            "diverged",
            "a step",
            "a version",
        )


def test_a_gate_that_was_taken_down_again_is_a_divergence_unless_it_is_marked_as_removed() -> None:
    def marked(ctx: Context) -> str:
        ctx.step("first", lambda step: None)
        ctx.removed("pricing", "version")
        ctx.step("price by way 2", lambda step: None)
        ctx.sleep("pause", 60)
        return "2 for good"

    def unmarked(ctx: Context) -> str:
        ctx.step("first", lambda step: None)
        ctx.step("price by way 2", lambda step: None)
        ctx.sleep("pause", 60)
        return "2 for good"

    code = Code(gated(2))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = unmarked
        durable.run()
        assert execution.status == "diverged"

        code.deployed = marked
        execution.resume()
        durable.run()
        assert (execution.status, execution.output) == ("completed", "2 for good")


@pytest.mark.parametrize("latest", [0, -1, "2", 2.0, True, None])
def test_a_latest_version_that_can_not_be_is_refused_at_the_call(latest: Any) -> None:
    def code(ctx: Context) -> str:
        try:
            ctx.version("way", latest)
        except InvalidCall as error:
            return str(error)
        return "taken"

    deployed = Code(code)
    with Harness(workflows=[deployed.workflow]) as durable:
        execution = durable.start(deployed.workflow)
        durable.run()

        assert execution.output == f"version 'way': latest is a whole number from 1, not {latest!r}"


def test_the_gate_is_read_and_not_decided_anew_when_the_step_after_it_is_tried_again() -> None:
    def flaky(step: Step) -> None:
        if step.attempt == 1:
            raise OSError("no line")

    def gated_step(latest: int) -> Callable[[Context], int]:
        def code(ctx: Context) -> int:
            way = ctx.version("way", latest)
            ctx.step("flaky", flaky)
            return way

        return code

    code = Code(gated_step(1))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.faults.in_body(2, lambda: setattr(code, "deployed", gated_step(2)))
        durable.run()

        assert execution.output == 1
