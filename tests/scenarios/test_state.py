"""The execution's document: committed with the step, kept by failed attempts, as large as a value may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from durable import Context, ErrorInfo, Retry, Step, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("S8")


@dataclass
class Cart:
    total: int = 0
    items: list[str] = field(default_factory=list)


def add(step: Step[Cart], item: str, price: int) -> int:
    step.state.items.append(item)
    step.state.total += price
    return step.state.total


def test_changes_are_seen_by_the_next_step_and_from_outside() -> None:
    @workflow(state=Cart)
    def order(ctx: Context[Cart]) -> list[int]:
        return [ctx.step("add", add, "book", 10), ctx.step("add", add, "pen", 2)]

    for steps in (1, 5):
        with Harness(workflows=[order], steps_per_invocation=steps) as durable:
            execution = durable.start(order)
            assert execution.state == Cart()
            durable.run()

            assert (execution.output, execution.state) == ([10, 12], Cart(12, ["book", "pen"]))


def test_each_execution_has_its_own() -> None:
    @workflow(state=Cart)
    def order(ctx: Context[Cart], item: str) -> None:
        ctx.step("add", add, item, 1)

    with Harness(workflows=[order]) as durable:
        executions = [durable.start(order, item) for item in ("book", "pen")]
        durable.run()

        assert [execution.state for execution in executions] == [Cart(1, ["book"]), Cart(1, ["pen"])]


def test_they_are_written_in_the_same_write_as_the_record() -> None:
    @workflow(state=Cart)
    def order(ctx: Context[Cart]) -> None:
        ctx.step("add", add, "book", 10)

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.deliver_once()

        assert [call.operation for call in durable.calls if call.by == "Worker" and call.service == "dynamodb"] == [
            "UpdateItem",  # the claim
            "UpdateItem",  # the record, the state and how it goes on
        ]


def test_a_crash_before_the_record_takes_the_changes_too() -> None:
    @workflow(state=Cart)
    def order(ctx: Context[Cart]) -> int:
        return ctx.step("add", add, "book", 10)

    with Harness(workflows=[order]) as durable:
        claim_and_checkpoint = 2
        durable.faults.before(claim_and_checkpoint, durable.faults.die, operation="UpdateItem", by="Worker")
        execution = durable.start(order)
        durable.run()

        assert durable.faults.bodies == ["add", "add"]
        assert (execution.output, execution.state) == (10, Cart(10, ["book"]))


@pytest.mark.parametrize("base", [0.1, 60])
def test_changes_of_a_failed_attempt_stay(base: float) -> None:
    seen: list[int] = []

    def count(step: Step) -> None:
        step.state["attempts"] = step.state.get("attempts", 0) + 1
        seen.append(step.state["attempts"])
        raise OSError("no line")

    @workflow(state=dict)
    def order(ctx: Context) -> None:
        ctx.try_step("count", count, retry=Retry(2, backoff_base=base))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.state, seen) == ("completed", {"attempts": 3}, [1, 2, 3])


def test_a_rollback_sees_it_and_changes_it() -> None:
    def undo(undo: Undo[int, Cart], item: str, price: int) -> None:
        undo.state.items.remove(item)
        undo.state.total -= price

    @workflow(state=Cart)
    def order(ctx: Context[Cart]) -> None:
        ctx.step("add", add, "book", 10)
        ctx.step("add", add, "pen", 2, rollback=undo)
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert execution.state == Cart(10, ["book"])


def test_it_can_be_replaced() -> None:
    def replace(step: Step[Cart]) -> None:
        step.state = Cart(99)

    @workflow(state=lambda: Cart(7))
    def order(ctx: Context[Cart]) -> int:
        before = ctx.step("look", lambda step: step.state.total)
        ctx.step("replace", replace)
        return before

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.output, execution.state) == (7, Cart(99))


def test_a_large_document_has_an_item_of_its_own_and_shrinks_back() -> None:
    def grow(step: Step, size: int) -> int:
        before = len(step.state.get("text", ""))
        step.state["text"] = "x" * size
        return before

    @workflow(state=dict)
    def order(ctx: Context, sizes: list[int]) -> list[int]:
        return [ctx.step("grow", grow, size) for size in sizes]

    sizes = [10, 200_000, 250_000, 100, 50_000, 0]
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order, sizes)
        observed = []
        while durable.deliver_once() is not None:
            observed.append(len(execution.state.get("text", "")))

        assert observed == [*sizes, 0]
        assert execution.output == [0, *sizes[:-1]]


def test_a_step_that_only_looks_writes_no_large_document_again() -> None:
    @workflow(state=lambda: {"text": "x" * 10_000})
    def order(ctx: Context) -> None:
        ctx.step("change", lambda step: step.state.update(changed=True))
        ctx.step("look", lambda step: step.state["text"] and None)

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

        written = [call.item for call in durable.calls if call.operation == "PutItem" and call.by == "Worker"]
        assert len(written) == 1


def unstorable(step: Step) -> None:
    step.state["connection"] = object()


def oversize(step: Step) -> None:
    step.state["text"] = "x" * 64_000_000


@pytest.mark.rule("S12", "R13")
@pytest.mark.parametrize(
    ("body", "why"),
    [(unstorable, "the state can't be stored: "), (oversize, "the state is 64,000,0")],
)
def test_a_document_that_can_not_be_stored_fails_the_step_for_good_and_rolls_back(
    body: Callable[[Step], None], why: str
) -> None:
    undone: list[tuple[str, str]] = []

    def undo(undo: Undo) -> None:
        undone.append((undo.name, undo.status))
        undo.state["undone"] = undo.name

    @workflow(state=dict)
    def order(ctx: Context) -> None:
        ctx.step("reserve", lambda step: step.state.update(reserved=True), rollback=undo)
        ctx.step("break", body, rollback=undo)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert (execution.error.type, why in execution.error.message) == ("CodecError", True)
        assert (execution.error.details["step"], execution.error.details["kind"]) == ("break", "critical")
        assert durable.faults.bodies == ["reserve", "break", "break", "reserve"]
        assert undone == [("break", "failed"), ("reserve", "completed")]
        assert execution.state == {"reserved": True, "undone": "reserve"}


def test_a_workflow_without_a_document_has_none_until_it_sets_one() -> None:
    def put(step: Step) -> ErrorInfo | None:
        before = step.state
        step.state = ["anything"]
        return before

    @workflow
    def order(ctx: Context) -> object:
        return ctx.step("put", put)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        assert execution.state is None
        durable.run()

        assert (execution.output, execution.state) == (None, ["anything"])
