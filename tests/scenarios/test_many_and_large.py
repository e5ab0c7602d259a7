"""However much one invocation records, and however large the values are: it is stored, and found again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from durable import Break, Context, Continue, Retry, Step, Undo, workflow
from durable.testing import Harness
from tests.scenarios.outside import incompressible


class WithoutBucket(Harness):
    """A deployment that has no bucket for large values."""

    def _build(self, environment: Mapping[str, str]) -> Any:
        return super()._build({**environment, "DURABLE_BUCKET": ""})


# --- many ------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("D1", "D2")
def test_one_invocation_records_hundreds_of_steps_and_the_next_one_replays_them() -> None:
    seen: list[list[str]] = []

    @workflow
    def order(ctx: Context) -> None:
        seen.append([ctx.step("embed", lambda step: f"{step.name} {incompressible(100)}") for _ in range(300)])
        ctx.sleep("pause", 60)

    with Harness(workflows=[order], steps_per_invocation=1_000) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, len(durable.invocations), len(durable.faults.bodies)) == ("completed", 2, 300)
        first, replayed = seen
        assert first == replayed
        assert first[299] == f"embed#300 {incompressible(100)}"


@pytest.mark.rule("D2", "Q4")
def test_one_write_records_a_thousand_operations_that_run_no_body() -> None:
    @workflow
    def order(ctx: Context) -> list[int]:
        ways = []
        for number in range(500):
            ctx.sleep("no time", 0)
            ways.append(ctx.version(f"way {number}", number + 1))
        ctx.step("after", lambda step: None)
        return ways

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", list(range(1, 501)))
        assert (len(execution.history), durable.faults.bodies) == (1_001, ["after"])


@pytest.mark.rule("R5", "R8")
def test_hundreds_of_steps_are_rolled_back_in_one_invocation() -> None:
    undone: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        for _ in range(150):
            ctx.step("reserve", lambda step: incompressible(100), rollback=lambda undo: undone.append(undo.name))
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=1_000) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert undone == [*(f"reserve#{number}" for number in range(150, 1, -1)), "reserve"]


# --- large -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("S13", "D3")
@pytest.mark.parametrize(
    ("deployed", "size"), [(Harness, 300_000), (Harness, 1_500_000), (WithoutBucket, 300_000), (WithoutBucket, 900_000)]
)
def test_a_large_value_is_kept_wherever_it_occurs(deployed: type[Harness], size: int) -> None:
    text = incompressible(size)

    @workflow(state=dict[str, str])
    def order(ctx: Context[dict[str, str]], given: str) -> tuple[str, list[bool]]:
        returned = ctx.step("result", lambda step: text)
        ctx.step("state", lambda step: step.state.update(text=text))
        read = ctx.step("read", lambda step: step.state["text"])
        taken = ctx.queue.next("wait", "texts", body=str).body
        inside = ctx.try_block("block", lambda ctx: ctx.step("inside", lambda step: text)).value
        ctx.sleep("pause", 60)
        return given, [each == text for each in (given, returned, read, taken, inside)]

    with deployed(workflows=[order]) as durable:
        execution = durable.start(order, text)
        execution.send("texts", text)
        durable.run()

        assert (execution.status, execution.output == (text, [True] * 5)) == ("completed", True)
        assert execution.state == {"text": text}
        assert len(durable.faults.bodies) == 4


@pytest.mark.rule("S13", "R9", "R13")
def test_a_large_result_is_given_to_its_rollback_and_one_that_is_too_large_is_one_error_after_one_run() -> None:
    text = incompressible(900_000)
    undone: list[tuple[str, bool]] = []

    def undo(undo: Undo[str]) -> None:
        undone.append((undo.name, undo.output == text))

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("fits", lambda step: text, rollback=undo)
        ctx.step("too large", lambda step: incompressible(1_400_001), rollback=undo)

    with WithoutBucket(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type) == ("failed", "CodecError")
        assert "at most 1,400,000 can be stored here. Configure a bucket (DURABLE_BUCKET)" in execution.error.message
        assert undone == [("too large", False), ("fits", True)]
        assert durable.faults.bodies == ["fits", "too large", "too large", "fits"]


class Verbose(Exception):
    """An error that says as much as is kept of one."""

    def __init__(self, number: int) -> None:
        super().__init__(incompressible(2_000 + number))
        for detail in range(20):
            setattr(self, f"detail {detail}", incompressible(2_000 + 100 * number + detail))


@pytest.mark.rule("L3", "D4")
def test_long_errors_of_the_turns_that_a_loop_keeps_are_stored_however_many_there_are() -> None:
    def fail(step: Step, number: int) -> None:
        raise Verbose(number)

    def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.try_step("fail", fail, number, retry=Retry(0))
        return Break(number) if number == 29 else Continue(number + 1)

    @workflow
    def order(ctx: Context) -> int:
        return ctx.loop("turns", turn, state=0, prune_every=2, keep=28)

    with Harness(workflows=[order], steps_per_invocation=99) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output, len(durable.faults.bodies)) == ("completed", 29, 30)
        assert [entry.error.message for entry in execution.history if entry.kind == "step"] == [
            f"{incompressible(2_000 + number)[:2_000]}" + "…" * (number > 0) for number in range(2, 30)
        ]
