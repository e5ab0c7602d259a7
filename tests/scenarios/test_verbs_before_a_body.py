"""A verb comes in between a claim and its body: the body does not begin, and leaves no trace of a start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from durable import Context, Execution, Step, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.usefixtures("no_sweeper")

ran: list[str] = []


def note(step: Step) -> str:
    ran.append(f"{step.path} {step.attempt}")
    return step.path


def undo(step: Undo[str]) -> None:
    ran.append(f"undo {step.path} {step.status}")


@workflow
def once(ctx: Context) -> str:
    return ctx.step("once", note, rollback=undo, semantics="at_most_once")


@workflow
def plain(ctx: Context) -> str:
    return ctx.step("plain", note, rollback=undo)


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    return [once, plain]


def before_the_mark(durable: Harness, execution: Any, verb: Callable[[Any], None]) -> None:
    """Lets the verb come in once the next worker has claimed, before it records that a body begins."""
    durable.faults.before(2, lambda: verb(execution), operation="UpdateItem", by="Worker")


@pytest.mark.rule("S5", "E7")
def test_a_pause_before_an_at_most_once_body_does_not_use_it_up(durable: Harness) -> None:
    execution = durable.start(once)
    before_the_mark(durable, execution, Execution.pause)
    durable.run()
    assert (execution.status, ran) == ("paused", [])

    execution.resume()
    durable.run()

    assert (execution.status, execution.output, ran) == ("completed", "once", ["once 1"])


@pytest.mark.rule("R4", "R12")
def test_a_cancel_before_a_body_rolls_nothing_back(durable: Harness) -> None:
    execution = durable.start(once)
    before_the_mark(durable, execution, Execution.cancel)
    durable.run()

    assert (execution.status, ran) == ("cancelled", [])


@pytest.mark.rule("R4", "R12")
def test_a_cancel_before_a_body_that_an_earlier_process_may_have_run_rolls_it_back(durable: Harness) -> None:
    execution = durable.start(plain)
    durable.faults.in_body(1, durable.faults.die)
    durable.deliver_once()
    before_the_mark(durable, execution, Execution.cancel)
    durable.run()

    assert (execution.status, ran) == ("cancelled", ["undo plain unfinished"])


@pytest.mark.rule("S4", "E7")
def test_a_pause_before_a_body_that_an_earlier_process_may_have_run_keeps_the_doubt(durable: Harness) -> None:
    execution = durable.start(plain)
    durable.faults.in_body(1, durable.faults.die)
    durable.deliver_once()
    before_the_mark(durable, execution, Execution.pause)
    durable.run()
    execution.cancel()
    durable.run()

    assert (execution.status, ran) == ("cancelled", ["undo plain unfinished"])
