"""A completable message is answered once, and whoever sent it can wait for the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from durable import (
    Break,
    Context,
    Continue,
    ExecutionBusy,
    InvalidCall,
    InvalidInput,
    InvalidState,
    Message,
    Queue,
    TerminalError,
    workflow,
)
from durable.testing import Harness
from durable.testing.clock import START
from tests.scenarios.outside import incompressible
from tests.stores import sampled

pytestmark = pytest.mark.rule("Q3")


@dataclass(frozen=True)
class Payment:
    amount: int


@dataclass(frozen=True)
class Receipt:
    total: int


payments = Queue("payments", Payment, reply=Receipt)


@workflow
def till(ctx: Context) -> int:
    total = 0
    for _ in range(2):
        message = ctx.queue.next("wait", payments, completable=True)
        total = ctx.step("add", lambda step, amount: total + amount, message.body.amount)
        message.complete(Receipt(total))
    return total


def pumped(durable: Harness, look: int = 1) -> None:
    """While the client waits, the functions run: from its nth look for the answer on."""
    durable.faults.before(look, lambda: durable.run(duration=0), operation="GetItem", by="client", times=1_000)


def test_its_sender_waits_for_the_response() -> None:
    with Harness(workflows=[till]) as durable:
        execution = durable.start(till)
        pumped(durable, look=4)

        assert execution.send(payments, Payment(10), wait=30) == Receipt(10)
        waited = durable.clock.moment - START
        assert 0 < waited.total_seconds() < 2
        assert execution.send(payments, Payment(5), wait=30) == Receipt(15)
        assert execution.output == 15


def test_whoever_does_not_wait_gets_nothing_and_the_message_is_answered_all_the_same() -> None:
    with Harness(workflows=[till]) as durable:
        execution = durable.start(till)
        assert execution.send(payments, Payment(10)) is None
        assert execution.send(payments, Payment(5)) is None
        durable.run()

        assert execution.output == 15
        assert [(entry.path, entry.kind, entry.status) for entry in execution.history if entry.kind == "reply"] == [
            ("wait/reply", "reply", "completed"),
            ("wait#2/reply", "reply", "completed"),
        ]


def test_when_the_wait_is_over_the_sender_is_told_and_may_ask_again_under_the_same_id() -> None:
    with Harness(workflows=[till]) as durable:
        execution = durable.start(till)
        with pytest.raises(ExecutionBusy, match=f"execution '{execution.id}' has not answered message 'm-1' in time"):
            execution.send(payments, Payment(10), wait=30, message_id="m-1")
        assert (durable.clock.moment - START).total_seconds() == 30

        durable.run()
        assert execution.send(payments, Payment(10), wait=0, message_id="m-1") == Receipt(10)
        assert execution.send(payments, Payment(10), wait=0, message_id="m-1") == Receipt(10)
        assert durable.faults.bodies == ["add"]


@pytest.mark.parametrize("response", [None, 0, "yes", {"a": [1, (2, 3)]}, Receipt(7)], ids=repr)
def test_any_value_may_be_a_response(response: Any) -> None:
    @workflow
    def answers(ctx: Context) -> None:
        ctx.queue.next("wait", "questions", completable=True).complete(response)

    with Harness(workflows=[answers]) as durable:
        execution = durable.start(answers)
        pumped(durable)

        assert execution.send("questions", "?", wait=5) == response


@pytest.mark.rule("S13")
@pytest.mark.parametrize("size", [20_000, 600_000])
def test_a_large_response_comes_whole(size: int) -> None:
    @workflow
    def answers(ctx: Context) -> None:
        ctx.queue.next("wait", "questions", completable=True).complete(incompressible(size))

    with Harness(workflows=[answers]) as durable:
        execution = durable.start(answers)
        pumped(durable)

        assert execution.send("questions", "?", wait=5) == incompressible(size)


def test_a_sender_is_told_at_once_that_the_execution_has_ended_without_a_response() -> None:
    @workflow
    def forgets(ctx: Context) -> None:
        ctx.queue.next("wait", "questions", completable=True)

    with Harness(workflows=[forgets]) as durable:
        execution = durable.start(forgets)
        pumped(durable)

        with pytest.raises(InvalidState, match="is completed: message 'm-1' gets no response any more"):
            execution.send("questions", "?", wait=3600, message_id="m-1")
        assert (durable.clock.moment - START).total_seconds() < 2


def test_each_message_of_a_batch_has_its_own() -> None:
    @workflow
    def answers(ctx: Context) -> None:
        batch = ctx.queue.next_batch("wait", "questions", count=9, completable=True)
        for message in reversed(batch):
            message.complete(f"{message.body}!")

    with Harness(workflows=[answers]) as durable:
        execution = durable.start(answers)
        for number in range(3):
            execution.send("questions", number, message_id=f"m-{number}")
        durable.run()

        assert [entry.path for entry in execution.history] == ["wait", "wait/reply#3", "wait/reply#2", "wait/reply"]
        assert [execution.send("questions", n, message_id=f"m-{n}", wait=0) for n in range(3)] == ["0!", "1!", "2!"]


def wrong(complete: Callable[[Context, Message[Any]], object], completable: bool = True) -> str:
    """What a workflow is told that completes a message so."""
    told: list[str] = []

    @workflow
    def answers(ctx: Context) -> None:
        message = ctx.queue.next("wait", "questions", completable=completable)
        try:
            complete(ctx, message)
        except Exception as error:
            told.append(f"{type(error).__name__}: {error}")

    with Harness(workflows=[answers]) as durable:
        execution = durable.start(answers)
        execution.send("questions", "?", message_id="m-1")
        durable.run()
        assert execution.status == "completed"

    return told[-1]


def test_a_second_response_is_refused() -> None:
    def twice(ctx: Context, message: Message[Any]) -> None:
        message.complete("yes")
        message.complete("no")

    assert wrong(twice) == "InvalidCall: message 'm-1' was completed before: a message has one response"


def test_one_that_was_not_asked_for_as_completable_can_not_be_answered() -> None:
    assert wrong(lambda ctx, message: message.complete("yes"), completable=False) == (
        "InvalidCall: message 'm-1' was received without completable=True: its sender waits for no response"
    )


def test_a_response_that_can_not_be_stored_is_a_clear_error() -> None:
    assert wrong(lambda ctx, message: message.complete(object())).startswith("CodecError: ")


@pytest.mark.rule("D11")
def test_a_response_is_given_by_the_workflow_and_not_inside_a_step() -> None:
    told = wrong(lambda ctx, message: ctx.step("answer", lambda step: message.complete("yes")))
    assert "a durable operation was called inside the body of step 'answer'" in told


@pytest.mark.rule("E3")
def test_a_response_is_the_same_wherever_the_process_dies_around_it() -> None:
    @workflow
    def answers(ctx: Context) -> str:
        message = ctx.queue.next("wait", "questions", completable=True)
        answer = ctx.step("think", lambda step: f"{message.body}! {step.idempotency_key[:6]}")
        message.complete(answer)
        ctx.step("after", lambda step: None)
        return answer

    def run(strike: Callable[[Harness], object]) -> int:
        with Harness(workflows=[answers], steps_per_invocation=5) as durable:
            execution = durable.start(answers, execution_id="one")
            strike(durable)
            execution.send("questions", "?", message_id="m-1")
            before = len(durable.calls)
            durable.run()
            (stored,) = {
                call.parameters["Item"]["value"]["B"]
                for call in durable.calls
                if call.operation == "PutItem" and call.item and str(call.item["sk"]).startswith("reply#")
            }
            assert (execution.status, durable.messages(None), bool(stored)) == ("completed", [], True)
            return sum(call.by == "Worker" for call in durable.calls[before:])

    calls = run(lambda durable: None)
    for nth in sampled(range(1, calls + 1)):
        run(lambda durable, nth=nth: durable.faults.before(nth, durable.faults.die, by="Worker"))
        run(lambda durable, nth=nth: durable.faults.after(nth, durable.faults.die, by="Worker"))


def test_a_reply_that_does_not_fit_the_declared_type_is_told_to_the_sender() -> None:
    @workflow
    def answers(ctx: Context) -> None:
        ctx.queue.next("wait", payments, completable=True).complete("a receipt")

    with Harness(workflows=[answers]) as durable:
        execution = durable.start(answers)
        pumped(durable)
        with pytest.raises(InvalidInput, match="the response to message 'm-1' does not fit: Expected"):
            execution.send(payments, Payment(1), wait=5, message_id="m-1")


def test_a_negative_wait_is_refused_before_anything_is_sent() -> None:
    with Harness(workflows=[till]) as durable:
        execution = durable.start(till)
        with pytest.raises(InvalidCall, match="send: wait is negative: -1"):
            execution.send(payments, Payment(1), wait=-1)
        durable.run()

        assert (execution.status, durable.faults.bodies) == ("waiting", [])


@pytest.mark.rule("L3", "L5", "D6")
@pytest.mark.parametrize("steps", [1, 50])
@pytest.mark.parametrize("fails", [False, True])
def test_a_message_is_completed_in_a_loop_that_forgets_the_iteration(steps: int, fails: bool) -> None:
    undone: list[str] = []

    @workflow
    def order(ctx: Context) -> list[str]:
        message = ctx.queue.next("question", "questions", completable=True)
        refused: list[str] = []

        def turn(ctx: Context, number: int) -> Continue[int] | Break[None]:
            ctx.step("turn", lambda step: number)
            if number in (1, 4):
                try:
                    ctx.try_block("answer", lambda _: message.complete(number))
                except InvalidCall as error:
                    refused.append(str(error))
            return Continue(number + 1) if number < 6 else Break()

        ctx.step("book", lambda step: None, rollback=lambda undo: undone.append(undo.path))
        ctx.loop("turns", turn, state=0, prune_every=2)
        ctx.step("close", refuse if fails else lambda step: None)
        return refused

    def refuse(step: object) -> None:
        raise TerminalError("closed")

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        execution = durable.start(order)
        execution.send("questions", "?", message_id="m-1")
        durable.run()

        assert (execution.status, undone) == (("failed", ["book"]) if fails else ("completed", []))
        assert [entry.path for entry in execution.history if entry.kind == "reply"] == ["question/reply"]
        assert execution.send("questions", "?", message_id="m-1", wait=1) == 1  # the second answer was refused
