"""State and the rest of a step's means exist inside the running step, and nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from durable import Context, ErrorInfo, Step, StepOnly, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("S7")


@pytest.mark.parametrize("thing", ["state", "vars", "db", "client", "publish", "transact", "remaining"])
def test_a_context_does_not_have_it_and_says_who_does(thing: str) -> None:
    @workflow(state=dict)
    def order(ctx: Context) -> Any:
        return getattr(ctx, thing)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        message = (
            f"ctx.{thing} does not exist: {thing} is only available inside a running step. "
            f"Use step.{thing} in a body, and return from the step what the workflow needs."
        )
        assert (execution.status, execution.error) == ("failed", ErrorInfo("StepOnly", message))


def test_anything_else_is_an_ordinary_attribute_error() -> None:
    @workflow
    def order(ctx: Context) -> Any:
        assert not hasattr(ctx, "stat")
        return ctx.stat

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.error == ErrorInfo("AttributeError", "'Context' object has no attribute 'stat'")


USES: dict[str, Callable[[Any], Any]] = {
    "state": lambda step: step.state,
    "vars": lambda step: step.vars,
    "db": lambda step: step.db,
    "client": lambda step: step.client,
    "queue": lambda step: step.queue,
    "publish": lambda step: step.publish("charged", {}),
    "transact": lambda step: step.transact(),
    "remaining": lambda step: step.remaining(),
}


@pytest.mark.parametrize("thing", USES)
def test_a_step_object_is_of_no_use_after_its_step(thing: str) -> None:
    kept: list[Step] = []
    raised: list[str] = []

    @workflow(state=dict)
    def order(ctx: Context) -> None:
        kept.clear()
        ctx.step("keep", kept.append)
        for step in kept:
            try:
                USES[thing](step)
            except StepOnly as error:
                raised.append(str(error))

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, raised) == (
            "completed",
            [
                f"step.{thing} was used after its step 'keep' had ended: it exists only inside the running step. "
                "Return a value from the step instead of keeping the step object."
            ],
        )


PARTS: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "db.get": lambda step: partial(step.db.get, "k"),
    "db.put": lambda step: partial(step.db.put, "k", 1),
    "db.delete": lambda step: partial(step.db.delete, "k"),
    "queue.send": lambda step: partial(step.queue.send, "q", 1),
    "client": lambda step: partial(step.client.get(step.execution_id).send, "q", 1),
}


@pytest.mark.parametrize("part", PARTS)
def test_nor_is_a_part_of_it_that_was_kept_apart(part: str) -> None:
    kept: list[Callable[[], Any]] = []
    raised: list[str] = []

    @workflow
    def order(ctx: Context) -> Any:
        kept.clear()
        ctx.step("keep", lambda step: kept.append(PARTS[part](step)))
        for use in kept:
            try:
                use()
            except StepOnly as error:
                raised.append(str(error))
        return ctx.step("look", lambda step: step.db.get("k"))

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.output, raised) == (
            None,
            [
                f"{part} was used after step 'keep' had ended: it exists only inside the running step. "
                "Return a value from the step instead of keeping it."
            ],
        )


def test_nor_is_it_when_it_is_assigned_to_in_another_step_or_thread() -> None:
    kept: list[Step] = []
    raised: list[BaseException] = []

    def late(step: Step) -> None:
        kept[0].state = {"from": "another step"}

    def elsewhere() -> None:
        try:
            kept[0].state["from"] = "a thread"
        except StepOnly as error:
            raised.append(error)

    @workflow(state=dict)
    def order(ctx: Context) -> str:
        ctx.step("keep", kept.append)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return ctx.try_step("late", late).failure.error.type

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.output, execution.state, len(raised)) == ("StepOnly", {}, 1)


def test_an_undo_object_is_of_no_use_after_its_rollback() -> None:
    kept: list[Undo] = []
    raised: list[str] = []

    def second(undo: Undo) -> None:
        try:
            _ = kept[0].state
        except StepOnly as error:
            raised.append(str(error))

    @workflow(state=dict)
    def order(ctx: Context) -> None:
        ctx.step("a", lambda step: None, rollback=second)
        ctx.step("b", lambda step: None, rollback=kept.append)
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, len(raised)) == ("failed", 1)
        assert raised[0].startswith("undo.state was used after its step 'b' had ended")


def test_what_a_step_is_can_be_read_at_any_time() -> None:
    kept: list[Step] = []

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("keep", kept.append)

    with Harness(workflows=[order]) as durable:
        durable.start(order, execution_id="one")
        durable.run()

    (step,) = kept
    assert (step.name, step.path, step.attempt, step.execution_id) == ("keep", "keep", 1, "one")
    assert repr(step) == "Step('keep', attempt=1, execution='one')"


def test_sending_is_a_thing_of_steps_too() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.queue.send("payments", 1)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.error is not None
        assert (execution.status, execution.error.type) == ("failed", "StepOnly")
        assert "step.queue.send" in execution.error.message
