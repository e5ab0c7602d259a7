"""What nobody names any more is deleted: of checkpoints that were refused, of starts and messages that were repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from durable import Action, AlreadyStarted, Context, Execution, InvalidState, Step, StoreError, workflow
from durable.protocol import keys
from durable.testing import Harness
from tests.scenarios import table
from tests.scenarios.outside import incompressible

DAY = 86_400
LARGE = 40_000  # of a value or a document: it has an item of its own
HUGE = 700_000  # it has an object, or several items

State = dict[str, str]


def grow(step: Step[State], size: int) -> str:
    step.state["note"] = incompressible(size)
    return step.path + incompressible(size)


@workflow(state=State)
def order(ctx: Context[State], size: int) -> int:
    """Every step has a large result and changes a large document; two of them record their start first."""
    for name in ("first", "second"):
        ctx.step(name, grow, size, semantics="at_most_once")
        ctx.queue.next_batch(f"look {name}", "letters", timeout=0)
    ctx.queue.next_batch("wait", "letters", timeout=60)
    return len(ctx.step("third", grow, size))


@order.action(read_only=False)
def touch(action: Action[State]) -> None:
    action.state["note"] = incompressible(LARGE)


def left(durable: Harness, execution_id: str) -> list[str]:
    """The items that neither the head, nor the history, nor a message names."""
    head, history = table.head(durable, execution_id), table.history(durable, execution_id)
    entries = [*history.operations, history.input, history.output, *history.rollbacks.values()]
    references = [reference for entry in entries if entry is not None for reference in entry.references]
    with durable.unrecorded():
        messages = durable.application.store.waiting(execution_id, None, 99)
    references += [message.kept for message in messages]
    named = {"head", *(part for text in (*references, head.state_at) for part in text.split(":"))}
    key = head.segment
    with durable.unrecorded():
        named |= {segment.key for segment in durable.application.store.segments(head, 0)} if key else set()
    return [key for key in table.items(durable, execution_id) if key not in named and not keys.is_message(key)]


Command = Callable[[Harness, Execution[Any, Any]], object]


def pause_and_resume(durable: Harness, execution: Execution[Any, Any]) -> None:
    execution.pause()
    execution.resume()


def act(durable: Harness, execution: Execution[Any, Any]) -> None:
    """For whom the lease is over."""
    table.end_lease(durable, execution.id)
    execution.action(touch)


COMMANDS: list[Command] = [
    pause_and_resume,
    lambda durable, it: it.cancel(),
    lambda durable, it: it.send("letters", "hello"),
    lambda durable, it: it.send("letters", incompressible(LARGE)),
    act,
]


@pytest.mark.rule("E9", "S13", "S8")
@pytest.mark.parametrize("command", COMMANDS, ids=["pause", "cancel", "send", "send large", "act"])
@pytest.mark.parametrize("steps", [1, 99])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_checkpoint_that_was_refused_leaves_nothing(moment: str, steps: int, command: Command) -> None:
    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        problems = []
        for nth in range(1, 30):
            execution = durable.start(order, LARGE)
            came: list[int] = []

            def strike(it: Any = execution, came: list[int] = came) -> None:
                came.append(1)
                with suppress(InvalidState):
                    command(durable, it)

            getattr(durable.faults, moment)(nth, strike, operation="UpdateItem", by="Worker")
            durable.run(duration=DAY)
            durable.faults.clear()
            if found := left(durable, execution.id):
                problems.append((nth, execution.status, found))
            if not came:
                break
        assert problems == []


@pytest.fixture
def waiting() -> Iterator[tuple[Harness, Execution[Any, Any]]]:
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order, 1, execution_id="order-1")
        durable.run(duration=30)
        assert execution.status == "waiting"
        yield durable, execution


def stored(durable: Harness) -> tuple[list[str], list[str]]:
    return sorted(table.items(durable, "order-1")), sorted(durable.stored.objects("order-1"))


@pytest.mark.rule("Q2", "S13")
@pytest.mark.parametrize("size", [LARGE, HUGE])
@pytest.mark.parametrize("when", ["before it is taken", "after it was taken", "after the end"])
def test_a_repeated_message_leaves_nothing(waiting: tuple[Harness, Execution[Any, Any]], when: str, size: int) -> None:
    durable, execution = waiting
    text = incompressible(size)
    execution.send("letters", text, message_id="m-1")
    if when != "before it is taken":
        durable.run(duration=1 if when == "after it was taken" else DAY)
    before = stored(durable)
    for _ in range(3):
        execution.send("letters", text, message_id="m-1")

    assert stored(durable) == before


@pytest.mark.rule("Q6", "S13")
@pytest.mark.parametrize("size", [LARGE, HUGE])
def test_a_message_that_is_refused_leaves_nothing(waiting: tuple[Harness, Execution[Any, Any]], size: int) -> None:
    durable, execution = waiting
    execution.terminate()
    before = stored(durable)
    with pytest.raises(InvalidState):
        execution.send("letters", incompressible(size))

    assert stored(durable) == before


@pytest.mark.rule("Q2", "S13", "E14")
@pytest.mark.parametrize("size", [LARGE, HUGE])
@pytest.mark.parametrize("message_id", [None, "m-1"])
def test_a_message_whose_answer_was_lost_is_whole(
    waiting: tuple[Harness, Execution[Any, Any]], message_id: str | None, size: int
) -> None:
    durable, execution = waiting
    durable.faults.after(1, durable.faults.lose_answer, operation="TransactWriteItems", by="client")
    execution.send("letters", incompressible(size), message_id=message_id)
    durable.run()

    (taken,) = (entry for entry in table.history(durable, "order-1").operations if entry.path == "wait")
    assert (
        execution.status,
        len(taken.references),
        [key for key in left(durable, "order-1") if not key.startswith("sent#")],
    ) == (
        "completed",
        1,
        [],
    )


@pytest.mark.rule("E2", "S13")
@pytest.mark.parametrize("size", [LARGE, HUGE])
def test_a_repeated_start_leaves_nothing(size: int) -> None:
    @workflow
    def takes(ctx: Context, text: str) -> int:
        return len(text)

    with Harness(workflows=[takes]) as durable:
        text = incompressible(size)
        durable.start(takes, text, execution_id="order-1")
        before = stored(durable)
        for _ in range(3):
            durable.clock.advance(1)
            durable.start(takes, text, execution_id="order-1")
        with pytest.raises(AlreadyStarted):
            durable.start(takes, text + "!", execution_id="order-1")
        assert stored(durable) == before
        durable.run()

        assert durable.get("order-1").output == size


@pytest.mark.rule("E2", "S13", "E14")
@pytest.mark.parametrize("size", [LARGE, HUGE])
def test_a_start_whose_answer_was_lost_is_whole(size: int) -> None:
    @workflow
    def takes(ctx: Context, text: str) -> int:
        return len(text)

    with Harness(workflows=[takes]) as durable:
        for operation in ("PutItem", "TransactWriteItems"):
            durable.faults.after(1, durable.faults.lose_answer, operation=operation, by="client", times=3)
        with suppress(StoreError):
            durable.start(takes, incompressible(size), execution_id="order-1")
        durable.faults.clear()
        durable.start(takes, incompressible(size), execution_id="order-1")
        durable.run()

        assert durable.get("order-1").output == size
