"""A worker has decided to delete its message, and is slow to do so: meanwhile the world changes.

Deleting is the event source's last act, so a delay there is one between `invoke` and `settle`.
"""

from __future__ import annotations

from typing import Any

import pytest

from durable import Context, Step, Undo, workflow
from durable.testing import Harness
from durable.testing.sources.queue import Batch

pytestmark = pytest.mark.usefixtures("no_sweeper")

ran: list[str] = []


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


def undo(step: Undo[str]) -> None:
    ran.append(f"undo {step.path}")


@workflow
def two_steps(ctx: Context) -> str:
    ctx.step("first", note, rollback=undo)
    return ctx.step("second", note, rollback=undo)


@workflow
def sleeper(ctx: Context) -> str:
    ctx.sleep("nap", 600)
    return ctx.step("first", note)


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    return [two_steps, sleeper]


def taken(durable: Harness) -> Batch:
    batch = durable.take()
    assert batch is not None
    return batch


def paused_and_about_to_be_deleted(durable: Harness) -> tuple[Any, Batch]:
    """An execution that is paused, and its message, which a worker has decided to delete."""
    execution = durable.start(two_steps)
    durable.deliver_once()
    execution.pause()
    batch = taken(durable)
    assert batch.invoke().answer == {"batchItemFailures": []}
    return execution, batch


@pytest.mark.rule("E3", "E6", "E7")
def test_a_message_deleted_for_a_pause_is_not_the_one_that_carries_on_after_the_resume(durable: Harness) -> None:
    """H3: resume raises the revision, so nothing can depend on a message that is about to go."""
    execution, batch = paused_and_about_to_be_deleted(durable)
    execution.resume()
    durable.faults.before(2, durable.faults.die, by="Worker")  # a copy of it, had it claimed, would die holding on

    batch.invoke()
    batch.settle(durable.invocations[-2])  # … and the first decision deletes it
    durable.run()

    assert (execution.status, ran) == ("completed", ["first", "second"])


@pytest.mark.rule("E3", "E6", "R12")
def test_a_message_deleted_for_a_pause_is_not_the_one_that_carries_on_after_a_cancel(durable: Harness) -> None:
    """H3 again: cancel ends a pause too. A copy rolls back and dies before it sends; its message is deleted behind it."""
    execution, batch = paused_and_about_to_be_deleted(durable)
    decided = durable.invocations[-1]
    for by in ("client", "TerminalFailure"):
        durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by=by)
    execution.cancel()
    durable.deliver_once()  # the stream's trigger
    durable.faults.before(1, durable.faults.die, operation=durable.sending, by="Worker")

    copy = batch.invoke()
    assert copy.answer == {"batchItemFailures": []}
    batch.settle(decided)

    assert ran == ["first"]  # no claim by a message that is about to go: here the sweeper helps, and nothing was lost
    durable.faults.clear()
    durable.run()
    assert (execution.status, ran) == ("cancelled", ["first", "undo first"])


@pytest.mark.rule("E3", "E6")
def test_a_message_that_came_early_is_held_and_not_replaced(durable: Harness) -> None:
    """H3: an early message that was sent again and deleted could be deleted after a copy of it had claimed."""
    execution = durable.start(sleeper)
    durable.run(duration=1)
    timer = durable.messages()[0]
    durable.duplicate(timer)
    batch = taken(durable)  # the copy, early
    early = batch.invoke()
    assert len(durable.sent) == 2  # the start and the timer: nothing for the early one
    durable.clock.advance(600)
    durable.faults.in_body(1, durable.faults.die)

    batch.invoke()  # now it is time: it claims, and dies
    batch.settle(early)
    durable.run()

    assert (execution.status, ran) == ("completed", ["first"])
