"""An action that was acknowledged is applied exactly once, whatever is lost and whatever the clocks say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from durable import Action, Context, Execution, Retry, Step, workflow
from durable.runtime.client.client import Client
from durable.runtime.registry import Registry
from durable.testing import Harness
from tests.scenarios import table

pytestmark = pytest.mark.rule("E8", "E14")

LARGE = 20_000  # of the document: it has an item of its own


@dataclass
class Cart:
    items: list[str] = field(default_factory=list)
    note: str = ""


def add(step: Step[Cart], item: str) -> None:
    step.state.items.append(item)


def plain(step: Step[Cart]) -> int:
    return step.attempt


@workflow(state=Cart)
def shop(ctx: Context[Cart]) -> list[Any]:
    attempt = ctx.step("look", plain, retry=Retry(0))
    ctx.sleep("think", 600)
    ctx.step("add", add, "book")
    ctx.step("add", add, "pen")
    return [attempt, *ctx.step("items", lambda step: step.state.items)]


@shop.action(read_only=False)
def put_in(action: Action[Cart], item: str, size: int = 0) -> int:
    action.state.items.append(item)
    action.state.note = "x" * size
    return len(action.state.items)


@pytest.fixture(params=[1, 99], ids=["one step", "budget"])
def durable(request: pytest.FixtureRequest) -> Iterator[Harness]:
    with Harness(workflows=[shop], steps_per_invocation=request.param) as harness:
        yield harness


@pytest.mark.parametrize("before", [0, LARGE])
@pytest.mark.parametrize("size", [0, LARGE])
def test_one_whose_answer_is_lost_is_applied_once(durable: Harness, before: int, size: int) -> None:
    execution = durable.start(shop)
    durable.run(duration=60)
    execution.action(put_in, "first", before)
    durable.faults.after(1, durable.faults.lose_answer, operation="UpdateItem", by="client")

    assert execution.action(put_in, "cap", size) == 2
    assert execution.state == Cart(["first", "cap"], "x" * size)
    documents = [key for key in table.items(durable, execution.id) if key.startswith("state#")]
    assert len(documents) == (1 if size else 0)
    durable.run()
    assert execution.output == [1, "first", "cap", "book", "pen"]


@pytest.mark.parametrize("size", [0, LARGE])
def test_one_whose_answer_is_lost_while_others_are_applied_is_applied_once(durable: Harness, size: int) -> None:
    execution = durable.start(shop)
    durable.run(duration=60)

    def another_and_lost() -> None:
        execution.action(put_in, "second", size)
        execution.send("letters", "hello")
        durable.faults.lose_answer()

    durable.faults.after(1, another_and_lost, operation="UpdateItem", by="client")
    execution.action(put_in, "first", size)

    assert execution.state == Cart(["first", "second"], "x" * size)


def held(durable: Harness, path: str, act: Callable[[Execution[Any, Any]], object]) -> Execution[Any, Any]:
    """An execution that is acted on while this step runs, by somebody who takes its lease for ended."""
    execution = durable.start(shop)
    durable.faults.in_body(1, lambda: act(execution), path=path)
    durable.run()
    return execution


@pytest.mark.parametrize("size", [0, LARGE])
@pytest.mark.parametrize("path", ["look", "add", "add#2"])
def test_one_by_a_client_whose_clock_is_fast_is_not_lost(durable: Harness, path: str, size: int) -> None:
    def act(execution: Execution[Any, Any]) -> None:
        fast(durable).get(shop, execution.id).action(put_in, "cap", size)

    execution = held(durable, path, act)

    assert (execution.status, sorted(execution.output[1:])) == ("completed", ["book", "cap", "pen"])
    assert sorted(execution.state.items) == ["book", "cap", "pen"]


@pytest.mark.parametrize("size", [0, LARGE])
@pytest.mark.parametrize("path", ["look", "add", "add#2"])
def test_one_on_an_execution_whose_holder_is_past_its_lease_is_not_lost(durable: Harness, path: str, size: int) -> None:
    def act(execution: Execution[Any, Any]) -> None:
        table.end_lease(durable, execution.id)
        execution.action(put_in, "cap", size)

    execution = held(durable, path, act)

    assert (execution.status, sorted(execution.output[1:])) == ("completed", ["book", "cap", "pen"])


def test_a_step_that_changes_no_state_is_recorded_all_the_same(durable: Harness) -> None:
    execution = held(durable, "look", lambda it: fast(durable).get(shop, it.id).action(put_in, "cap"))

    assert execution.output == [1, "cap", "book", "pen"]
    assert durable.faults.bodies.count("look") == 1


def test_a_step_that_had_the_state_as_it_was_before_runs_again(durable: Harness) -> None:
    execution = held(durable, "add", lambda it: fast(durable).get(shop, it.id).action(put_in, "cap"))

    assert execution.output == [1, "cap", "book", "pen"]
    assert durable.faults.bodies.count("add") == 2


@workflow(state=Cart)
def quick(ctx: Context[Cart]) -> list[str]:
    """Steps that follow each other in one invocation, where its budget allows that."""
    ctx.step("add", add, "book")
    ctx.step("look", plain)
    ctx.step("add", add, "pen")
    return ctx.step("items", lambda step: step.state.items)


@pytest.mark.parametrize("size", [0, LARGE])
@pytest.mark.parametrize("steps", [1, 99])
def test_the_next_step_of_the_invocation_sees_what_an_action_has_changed(steps: int, size: int) -> None:
    quick.actions.setdefault("put_in", put_in)
    with Harness(workflows=[quick], steps_per_invocation=steps) as durable:
        execution = durable.start(quick)

        def act() -> None:
            fast(durable).get(quick, execution.id).action("put_in", "cap", size)

        durable.faults.in_body(1, act, path="look")
        durable.run()

        assert execution.output == ["book", "cap", "pen"]


def fast(durable: Harness) -> Client:
    """A client whose clock is two minutes fast: longer than any lease of the worker's."""

    class Fast:
        def now(self) -> int:
            return durable.clock.now() + 120_000

        def sleep(self, seconds: float) -> None:
            durable.clock.sleep(seconds)

    return Client(replace(durable.application.ports, clock=Fast()), Registry([shop, quick]))
