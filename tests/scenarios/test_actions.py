"""Actions: functions of a workflow that are called from outside, with the state as recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from durable import (
    Action,
    ActionNotFound,
    Context,
    ExecutionBusy,
    ExecutionNotFound,
    InvalidCall,
    InvalidName,
    InvalidState,
    Step,
    workflow,
)
from durable.testing import Harness
from durable.testing.clock import START

pytestmark = pytest.mark.rule("E8")


@dataclass
class Cart:
    items: list[str] = field(default_factory=list)
    note: str = ""


@workflow(state=Cart)
def shop(ctx: Context[Cart]) -> list[str]:
    ctx.step("add", add, "book")
    ctx.sleep("look around", 600)
    ctx.step("add", add, "pen")
    return ctx.step("items", lambda step: step.state.items)


def add(step: Step[Cart], item: str) -> None:
    step.state.items.append(item)


@shop.action
def get_state(action: Action[Cart]) -> Cart:
    return action.state


@shop.action
def count(action: Action[Cart], item: str, *, factor: int = 1) -> int:
    return action.state.items.count(item) * factor


@shop.action(name="put-in", read_only=False)
def put_in(action: Action[Cart], item: str, times: int = 1) -> int:
    """Put something into the cart."""
    action.state.items += [item] * times
    return len(action.state.items)


@shop.action(read_only=False)
def grow(action: Action[Cart], size: int) -> None:
    action.state.note = "x" * size


@shop.action
def meddle(action: Action[Cart]) -> int:
    action.state.items.append("never kept")
    return len(action.state.items)


@shop.action
def fail(action: Action[Cart]) -> None:
    raise LookupError(f"not in {action.execution_id}")


@pytest.fixture
def durable() -> Iterator[Harness]:
    with Harness(workflows=[shop]) as harness:
        yield harness


def test_they_are_called_by_function_or_by_name_with_arguments(durable: Harness) -> None:
    execution = durable.start(shop)
    assert (execution.action(get_state), execution.action("get_state")) == (Cart(), Cart())
    durable.run(duration=60)

    assert execution.action(get_state) == Cart(["book"])
    assert execution.action(count, "book", factor=3) == execution.action("count", item="book", factor=3) == 3
    assert durable.get(shop, execution.id).action(get_state) == Cart(["book"])


def test_one_that_changes_the_state_is_seen_by_the_next_step_and_from_outside(durable: Harness) -> None:
    execution = durable.start(shop)
    durable.run(duration=60)
    assert execution.action(put_in, "cap") == 2
    assert execution.action("put-in", "cap", times=2) == 4
    assert execution.state == Cart(["book", "cap", "cap", "cap"])
    durable.run()

    assert execution.output == ["book", "cap", "cap", "cap", "pen"]


def test_what_a_read_only_one_changes_is_not_kept(durable: Harness) -> None:
    execution = durable.start(shop)
    durable.run(duration=60)
    assert (execution.action(meddle), execution.action(meddle), execution.state.items) == (2, 2, ["book"])


def test_a_read_only_one_never_waits_for_a_running_step(durable: Harness) -> None:
    seen: list[Cart] = []
    execution = durable.start(shop)
    durable.faults.in_body(2, lambda: seen.append(execution.action(get_state)))
    durable.run()

    assert seen == [Cart(["book"])]
    assert execution.output == ["book", "pen"]


@pytest.mark.rule("S8")
def test_one_that_changes_it_waits_for_the_running_step_and_is_told_when_its_wait_is_over(durable: Harness) -> None:
    raised: list[tuple[str, float]] = []
    execution = durable.start(shop)

    def put_in_meanwhile() -> None:
        began = durable.clock.now()
        with pytest.raises(ExecutionBusy) as busy:
            execution.action(put_in, "cap")
        raised.append((str(busy.value), (durable.clock.now() - began) / 1000))

    durable.faults.in_body(1, put_in_meanwhile)
    durable.run()

    message = f"action 'put-in' could not change execution '{execution.id}': its steps kept it busy. Try again."
    assert raised == [(message, 10.0)]
    assert execution.output == ["book", "pen"]


@pytest.mark.rule("E4")
def test_a_step_that_comes_in_between_is_not_overwritten_and_the_action_runs_again(durable: Harness) -> None:
    execution = durable.start(shop)
    durable.faults.before(1, durable.deliver_once, operation="UpdateItem", by="client")  # the action's own write

    assert execution.action(put_in, "cap") == 2
    assert execution.state == Cart(["book", "cap"])


def test_so_does_another_action(durable: Harness) -> None:
    execution = durable.start(shop)
    durable.faults.before(1, lambda: execution.action(put_in, "first"), operation="UpdateItem", by="client")

    assert execution.action(put_in, "second") == 2
    assert execution.state == Cart(["first", "second"])


@pytest.mark.rule("E4", "S8")
def test_one_that_finds_a_step_begun_since_it_looked_changes_nothing(durable: Harness) -> None:
    """The step has the state as it was: were the action to write now, the step would undo that."""
    execution = durable.start(shop)
    durable.faults.in_body(1, durable.faults.die)  # … and nobody knows yet that it is dead
    durable.faults.before(1, durable.deliver_once, operation="UpdateItem", by="client")
    with pytest.raises(ExecutionBusy):
        execution.action(put_in, "cap")

    assert execution.state == Cart()
    durable.run()
    assert execution.output == ["book", "pen"]


@pytest.mark.rule("D3")
@pytest.mark.parametrize("size", [10, 5_000, 200_000])
def test_a_large_state_is_changed_too_and_shrinks_back(durable: Harness, size: int) -> None:
    execution = durable.start(shop)
    durable.run(duration=60)
    for each in (size, 0, size):
        execution.action(grow, each)
        assert (len(execution.action(get_state).note), execution.state.items) == (each, ["book"])
    durable.run()

    assert (len(execution.state.note), execution.output) == (size, ["book", "pen"])


@pytest.mark.parametrize("status", ["completed", "cancelled", "terminated"])
def test_after_the_end_the_state_can_be_read_and_not_changed(durable: Harness, status: str) -> None:
    execution = durable.start(shop)
    durable.run(duration=60)
    if status == "cancelled":
        execution.cancel()
    if status == "terminated":
        execution.terminate()
    durable.run()

    assert execution.action(count, "book") == 1
    with pytest.raises(InvalidState, match=f"execution '{execution.id}' is {status}: its state can't be changed any"):
        execution.action(put_in, "cap")


@pytest.mark.rule("E7")
def test_a_paused_execution_s_state_can_be_changed(durable: Harness) -> None:
    execution = durable.start(shop)
    durable.run(duration=60)
    execution.pause()
    execution.action(put_in, "cap")
    execution.resume()
    durable.run()

    assert execution.output == ["book", "cap", "pen"]


def test_an_error_of_its_own_is_its_caller_s_and_changes_nothing(durable: Harness) -> None:
    execution = durable.start(shop, execution_id="one")
    with pytest.raises(LookupError, match="not in one"):
        execution.action(fail)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        execution.action("put-in", "cap", colour="red")

    assert execution.state == Cart()


def test_one_that_does_not_exist_is_refused_and_so_is_an_execution_that_does_not(durable: Harness) -> None:
    execution = durable.start(shop)
    known = "count, fail, get_state, grow, meddle, put-in"
    with pytest.raises(ActionNotFound, match=f"workflow 'shop' has no action 'get'; it has: {known}"):
        execution.action("get")
    execution.terminate()
    durable.run(duration=31 * 86_400)
    with pytest.raises(ExecutionNotFound):
        execution.action(get_state)


def test_a_function_stays_a_function(durable: Harness) -> None:
    assert (put_in.name, put_in.read_only, put_in.__doc__) == ("put-in", False, "Put something into the cart.")
    assert repr(put_in) == "<action put-in>"


def test_two_of_one_name_or_one_with_a_bad_name_are_refused_at_the_decorator() -> None:
    @workflow
    def order(ctx: Context) -> None:
        """Nothing."""

    @order.action
    def look(action: Action[Any]) -> None:
        """Nothing."""

    with pytest.raises(InvalidCall, match="workflow 'order' has two actions called 'look': rename one"):
        order.action(name="look")(lambda action: None)
    with pytest.raises(InvalidName):
        order.action(name="look at/it")(lambda action: None)


def test_an_action_writes_no_revision_and_disturbs_no_wait(durable: Harness) -> None:
    execution = durable.start(shop)
    durable.run(duration=60)
    for _ in range(3):
        execution.action(put_in, "cap")
    durable.run()

    assert (durable.clock.moment - START).total_seconds() == 600
    assert len(durable.faults.bodies) == len(set(durable.faults.bodies)) == 3


@pytest.mark.parametrize(
    ("action", "args", "named", "says"),
    [
        (put_in, (), {}, "action 'put-in': put-in(.*) can't be called so: missing a required argument: 'item'"),
        ("put-in", ("cap", 2, "more"), {}, "too many positional arguments"),
        ("count", ("cap",), {"factors": 2}, "unexpected keyword argument 'factors'"),
    ],
)
def test_arguments_that_it_does_not_take_are_refused_at_the_call(
    durable: Harness, action: Any, args: tuple[Any, ...], named: dict[str, Any], says: str
) -> None:
    execution = durable.start(shop)
    with pytest.raises(InvalidCall, match=says):
        execution.action(action, *args, **named)
    assert execution.action(get_state) == Cart()
