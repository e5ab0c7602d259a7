"""Lines of the log appear once, say where they come from, and leak nothing into the next execution."""

from __future__ import annotations

import json
from typing import Any

import pytest

from durable import Context, Retry, Step, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("D12")

FIELDS = ("level", "message", "workflow", "execution", "step", "attempt", "rollback", "order")


def lines(capsys: pytest.CaptureFixture[str], *fields: str) -> list[dict[str, Any]]:
    """What ctx.log and step.log wrote to standard output, reduced to these fields."""
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    own = [line for line in written if "message_id" not in line]  # the others are the runtime's
    return [{field: line[field] for field in fields or FIELDS if field in line} for line in own]


def messages(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line["message"] for line in lines(capsys)]


def test_a_line_appears_once_however_often_the_function_is_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.log.info("begin")
        ctx.step("a", lambda step: step.log.info("in a"))
        ctx.log.info("after a")
        ctx.sleep("pause", 60)
        ctx.log.info("after the pause")
        ctx.step("b", lambda step: {2: None}[step.attempt], retry=Retry(1, backoff_base=60))
        ctx.log.info("end")

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

    assert messages(capsys) == ["begin", "in a", "after a", "after the pause", "end"]


def test_a_line_appears_once_in_an_invocation_of_many_steps(capsys: pytest.CaptureFixture[str]) -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.log.info("begin")
        for name in "abcde":
            ctx.step(name, lambda step: None)
            ctx.log.info("after %s", name)

    with Harness(workflows=[order], steps_per_invocation=2) as durable:
        durable.start(order)
        durable.run()

    assert messages(capsys) == ["begin", *(f"after {name}" for name in "abcde")]


def test_a_rollback_writes_its_own_lines_and_repeats_none_of_the_workflow(capsys: pytest.CaptureFixture[str]) -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.log.info("begin")
        ctx.step("a", lambda step: None, rollback=lambda undo: undo.log.warning("undoing"))
        ctx.log.info("after a")
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        durable.start(order, execution_id="one")
        durable.run()

    common = {"workflow": "order", "execution": "one"}
    assert lines(capsys) == [
        {"level": "INFO", "message": "begin", **common},
        {"level": "INFO", "message": "after a", **common},
        {"level": "WARNING", "message": "undoing", **common, "step": "a", "attempt": 1, "rollback": True},
    ]


def test_the_lines_since_the_last_checkpoint_come_again_after_a_crash(capsys: pytest.CaptureFixture[str]) -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.log.info("begin")
        ctx.step("a", lambda step: None)
        ctx.log.info("after a")
        ctx.step("b", lambda step: None)

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.faults.in_body(2, durable.faults.die)
        durable.run()

    assert messages(capsys) == ["begin", "after a", "after a"]


def test_lines_carry_workflow_execution_step_and_attempt(capsys: pytest.CaptureFixture[str]) -> None:
    def charge(step: Step) -> None:
        step.log.info("charging", extra={"order": 7})
        if step.attempt == 1:
            raise OSError("no line")

    @workflow
    def order(ctx: Context) -> None:
        ctx.log.info("begin", extra={"order": 7, "execution": "forged"})
        ctx.step("charge", charge)

    with Harness(workflows=[order]) as durable:
        durable.start(order, execution_id="one")
        durable.run()

    common = {"level": "INFO", "workflow": "order", "execution": "one", "order": 7}
    assert lines(capsys) == [
        {"message": "begin", **common},
        {"message": "charging", **common, "step": "charge", "attempt": 1},
        {"message": "charging", **common, "step": "charge", "attempt": 2},
    ]


def test_nothing_leaks_from_one_execution_to_the_next_in_a_warm_process(capsys: pytest.CaptureFixture[str]) -> None:
    @workflow
    def order(ctx: Context, name: str) -> None:
        ctx.step("charge", lambda step: step.log.info("in a body", extra={"order": name}))
        ctx.log.info("end of %s", name)

    with Harness(workflows=[order]) as durable:
        durable.start(order, "first", execution_id="one")
        durable.run()
        durable.start(order, "second", execution_id="two")
        durable.run()

    common = {"level": "INFO", "workflow": "order"}
    body = {"message": "in a body", "step": "charge", "attempt": 1}
    assert lines(capsys) == [
        {**common, **body, "execution": "one", "order": "first"},
        {**common, "message": "end of first", "execution": "one"},
        {**common, **body, "execution": "two", "order": "second"},
        {**common, "message": "end of second", "execution": "two"},
    ]


def test_a_line_that_an_invocation_left_behind_for_lack_of_time_is_not_written_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("long", lambda step: durable.clock.advance(35))
        ctx.log.info("between")
        ctx.step("another", lambda step: None)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()
        assert execution.status == "completed"

    assert messages(capsys) == ["between"]
