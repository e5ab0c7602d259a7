"""Several versions of a workflow are deployed side by side; an execution keeps the one that it began with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from durable import Action, Context, DuplicateWorkflow, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("D7")

undone: list[str] = []


@workflow(name="order", version=1, state=list)
def first(ctx: Context[list[str]], customer: str) -> str:
    ctx.step("greet", lambda step: step.state.append("hello"), rollback=undo_first)
    ctx.sleep("pause", 60)
    return f"hello, {customer}"


def undo_first(undo: Undo[None, list[str]]) -> None:
    undone.append("by version 1")


@first.action(name="look")
def look_first(action: Action[list[str]]) -> str:
    return f"version 1: {action.state}"


@workflow(name="order", version=2, state=dict)
def second(ctx: Context[dict[str, str]], customer: str, /) -> str:
    ctx.step("welcome", lambda step: step.state.update(said="welcome"), rollback=undo_second)
    ctx.sleep("pause", 60)
    return f"welcome, {customer}"


def undo_second(undo: Undo[None, dict[str, str]]) -> None:
    undone.append("by version 2")


@second.action(name="look")
def look_second(action: Action[dict[str, str]]) -> str:
    return f"version 2: {action.state}"


@pytest.fixture
def durable() -> Iterator[Harness]:
    undone.clear()
    with Harness(workflows=[first, second]) as harness:
        yield harness


def test_each_execution_runs_the_code_of_its_version(durable: Harness) -> None:
    executions = [durable.start(version, "Ada") for version in (first, second, first)]
    durable.run()

    assert [(each.version, each.output) for each in executions] == [
        (1, "hello, Ada"),
        (2, "welcome, Ada"),
        (1, "hello, Ada"),
    ]


def test_who_starts_it_by_name_gets_the_newest_or_the_one_that_was_asked_for(durable: Harness) -> None:
    newest = durable.start_named("order", "Ada", execution_id="newest")
    asked = durable.start_named("order", "Ada", execution_id="asked", version=1)
    durable.run()

    assert (newest.version, newest.output, asked.version, asked.output) == (2, "welcome, Ada", 1, "hello, Ada")


def test_it_is_rolled_back_by_the_code_of_its_version(durable: Harness) -> None:
    executions = [durable.start(version, "Ada") for version in (first, second)]
    durable.run(duration=30)
    for execution in executions:
        execution.cancel()
    durable.run()

    assert [execution.status for execution in executions] == ["cancelled", "cancelled"]
    assert sorted(undone) == ["by version 1", "by version 2"]


@pytest.mark.rule("E8")
def test_its_actions_and_its_state_are_those_of_its_version(durable: Harness) -> None:
    executions = [durable.start(version, "Ada") for version in (first, second)]
    durable.run()

    assert [durable.get(execution.id).action("look") for execution in executions] == [
        "version 1: ['hello']",
        "version 2: {'said': 'welcome'}",
    ]


def test_two_of_one_name_and_version_are_refused() -> None:
    @workflow(name="order", version=2)
    def another(ctx: Context) -> None:
        """Calls itself what the second is."""

    with pytest.raises(DuplicateWorkflow, match="order"), Harness(workflows=[second, another]) as durable:
        durable.start(another)
