"""A body that takes its process with it uses up attempts; a process that dies before its body charges nobody."""

from __future__ import annotations

from typing import Any

import pytest

from durable import Context, Retry, Step, Undo, workflow
from durable.testing import Harness
from tests.scenarios import table

pytestmark = pytest.mark.usefixtures("no_sweeper")

ran: list[str] = []
poisoned: list[Any] = []  # how a body dies


def note(step: Step) -> str:
    ran.append(f"{step.path} {step.attempt}")
    return step.path


def poison(step: Step) -> None:
    note(step)
    poisoned[0]()


def undo(step: Undo[Any]) -> None:
    error = step.error.type if step.error else None
    ran.append(f"undo {step.path} {step.status} {error} {step.forward_attempts}")


@workflow
def poisoned_step(ctx: Context, attempts: int) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("poison", poison, rollback=undo, retry=Retry(attempts - 1, backoff_base=0))


@workflow
def poisoned_once(ctx: Context) -> None:
    ctx.step("poison", poison, rollback=undo, semantics="at_most_once")


@workflow
def healthy(ctx: Context) -> str:
    ctx.step("first", note, retry=Retry(0))
    ctx.sleep("nap", 60)
    return ctx.step("second", note, retry=Retry(0), rollback=undo)


@workflow
def fails_between(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("second", note, rollback=undo)


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    poisoned.clear()
    return [poisoned_step, poisoned_once, healthy, fails_between]


@pytest.mark.rule("S4", "E3")
@pytest.mark.parametrize("attempts", [1, 2, 5, 25])
def test_a_poisoned_step_ends_after_its_attempts_and_the_one_that_was_not_sure(durable: Harness, attempts: int) -> None:
    """H12: five attempts are five, however often the queue allows a message to be received."""
    poisoned.append(durable.faults.die)

    execution = durable.start(poisoned_step, attempts)
    durable.run()

    numbers = [1, *range(1, attempts + 1)]  # the first crash is ambiguous, and free
    assert ran == [
        "first 1",
        *(f"poison {number}" for number in numbers),
        f"undo poison failed ProcessCrashed {attempts}",
        "undo first completed None 1",
    ]
    assert (execution.status, execution.error.type) == ("failed", "ProcessCrashed")
    (entry,) = [e for e in execution.history if (e.path, e.kind) == ("poison", "step")]
    assert (entry.status, entry.attempts) == ("failed", attempts)


@pytest.mark.rule("S5")
def test_at_most_once_is_at_most_once_also_when_its_process_dies(durable: Harness) -> None:
    poisoned.append(durable.faults.die)

    execution = durable.start(poisoned_once)
    durable.run()

    assert (execution.status, ran) == ("failed", ["poison 1", "undo poison failed ProcessCrashed 1"])


@pytest.mark.rule("S4")
@pytest.mark.parametrize("deaths", [1, 3])
def test_dying_before_the_body_charges_no_attempt(durable: Harness, deaths: int) -> None:
    """H13: a claim is no start; nor is the step after a sleep charged for the deaths before it."""
    durable.faults.after(1, durable.faults.die, operation="UpdateItem", by="Worker", times=deaths)

    execution = durable.start(healthy)
    durable.run()

    assert (execution.status, ran) == ("completed", ["first 1", "second 1"])


@pytest.mark.rule("S4")
def test_deaths_before_the_body_after_a_sleep_charge_no_attempt(durable: Harness) -> None:
    execution = durable.start(healthy)
    durable.run(duration=1)
    durable.faults.after(1, durable.faults.die, operation="UpdateItem", by="Worker", times=3)

    durable.run()

    assert (execution.status, ran) == ("completed", ["first 1", "second 1"])


@pytest.mark.rule("S4", "R4")
@pytest.mark.durable(steps_per_invocation=10)
def test_the_second_body_of_one_invocation_counts_as_started_too(durable: Harness) -> None:
    """H14: a checkpoint that keeps the lease goes on to another body, whose death must leave a trace."""
    execution = durable.start(fails_between)
    durable.faults.in_body(2, durable.faults.die)
    durable.deliver_once()
    execution.cancel()
    durable.run()

    assert execution.status == "cancelled"
    assert ran == ["first 1", "undo second unfinished None 0", "undo first completed None 1"]


@pytest.mark.rule("S4", "R4")
@pytest.mark.durable(steps_per_invocation=10)
def test_the_second_body_of_one_invocation_uses_up_its_attempts_too(durable: Harness) -> None:
    """H14."""
    poisoned.append(durable.faults.die)
    execution = durable.start(poisoned_step, 2)
    durable.run()

    assert (execution.status, ran[:4]) == ("failed", ["first 1", "poison 1", "poison 1", "poison 2"])
    assert ran[4:] == ["undo poison failed ProcessCrashed 2", "undo first completed None 1"]


@pytest.mark.rule("R4")
def test_a_step_that_never_started_is_not_rolled_back(durable: Harness) -> None:
    """H15: a rollback claim is no start either."""
    execution = durable.start(fails_between)
    durable.deliver_once()
    execution.cancel()
    durable.faults.after(1, durable.faults.die, operation="UpdateItem", by="Worker", times=2)

    durable.run()

    assert (execution.status, ran) == ("cancelled", ["first 1", "undo first completed None 1"])


@pytest.mark.rule("R4")
def test_the_step_after_a_sleep_that_had_passed_is_rolled_back_when_it_may_have_started(durable: Harness) -> None:
    """H16: the rollback judges the sleep by the time of the last forward claim."""
    execution = durable.start(healthy)
    durable.run(duration=59)
    durable.clock.advance(1)
    durable.faults.in_body(1, durable.faults.die)
    durable.deliver_once()
    execution.cancel()
    durable.run()

    assert (execution.status, ran) == ("cancelled", ["first 1", "undo second unfinished None 0"])
    assert table.head(durable, execution.id).claims == 1
