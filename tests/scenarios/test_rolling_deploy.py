"""A continuation reaches a deployment that does not know its workflow or version yet: it is held, and never failed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from durable import Context, Step, workflow
from durable.testing import Harness
from tests.scenarios import table

ran: list[str] = []


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


@workflow(name="order")
def first_version(ctx: Context) -> str:
    return ctx.step("old", note)


@workflow(name="order", version=2)
def second_version(ctx: Context) -> str:
    ctx.step("new", note)
    ctx.sleep("nap", 3600)
    return ctx.step("newer", note)


@workflow
def other(ctx: Context) -> None:
    """Knows nothing of orders."""


@pytest.fixture
def durable() -> Iterator[Harness]:
    ran.clear()
    with Harness(workflows=[first_version, second_version]) as harness:
        yield harness


@pytest.mark.rule("D7", "E6")
@pytest.mark.parametrize("deployed", [[first_version], [other]])
def test_a_new_version_waits_for_the_workers_that_know_it(durable: Harness, deployed: list[object]) -> None:
    """V2: two hours of holds, and a dead letter for each twenty of them, count for nothing."""
    durable.deploy(deployed)
    execution = durable.start(second_version)
    durable.run(duration=7_200)

    assert sum(i.function == "DeadLetters" for i in durable.invocations) >= 5
    assert (execution.status, table.head(durable, execution.id).dead, ran) == ("pending", 0, [])

    durable.deploy([first_version, second_version])
    durable.run()
    assert (execution.status, execution.output, ran) == ("completed", "newer", ["new", "newer"])
    assert durable.messages(None) == []


@pytest.mark.rule("D7", "E6")
def test_a_deploy_that_is_taken_back_holds_what_has_begun(durable: Harness) -> None:
    execution = durable.start(second_version)
    durable.run(duration=60)
    durable.deploy([first_version])
    durable.run(duration=1_800)
    assert (execution.status, ran) == ("waiting", ["new"])

    durable.deploy([second_version])
    durable.run()

    assert (execution.status, ran) == ("completed", ["new", "newer"])


@pytest.mark.rule("D7", "E6", "R3")
def test_a_rollback_waits_for_the_workers_that_know_it_too(durable: Harness) -> None:
    execution = durable.start(second_version)
    durable.run(duration=60)
    durable.deploy([other])
    execution.cancel()
    durable.run(duration=1_800)
    assert (execution.status, table.head(durable, execution.id).dead) == ("cancelling", 0)

    durable.deploy([second_version])
    durable.run()

    assert (execution.status, durable.messages(None)) == ("cancelled", [])


@pytest.mark.rule("E6")
def test_what_is_held_does_not_hold_up_what_is_known(durable: Harness) -> None:
    durable.deploy([first_version])
    held, known = durable.start(second_version), durable.start(first_version)

    durable.run(duration=60)

    assert (held.status, known.status, ran) == ("pending", "completed", ["old"])


@pytest.mark.rule("D7")
def test_an_execution_keeps_the_version_that_it_began_with(durable: Harness) -> None:
    durable.deploy([first_version])
    execution = durable.start(first_version)

    durable.deploy([first_version, second_version])
    durable.run()

    assert (execution.status, execution.output, ran) == ("completed", "old", ["old"])
