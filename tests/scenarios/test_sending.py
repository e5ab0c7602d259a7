"""Sending: to an execution that takes messages, once for each id, and refused where nobody would ever read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from durable import (
    Context,
    Execution,
    ExecutionNotFound,
    InvalidInput,
    InvalidName,
    InvalidState,
    Queue,
    TerminalError,
    workflow,
)
from durable.testing import Harness


@dataclass(frozen=True)
class Payment:
    id: str
    amount: int


payments = Queue("payments", Payment)


@workflow
def reader(ctx: Context) -> list[Any]:
    return [message.body for _ in range(2) for message in ctx.queue.next_batch("wait", timeout=600)]


@workflow
def fails(ctx: Context) -> list[Any]:
    raise TerminalError("no")


@pytest.mark.rule("Q6")
@pytest.mark.parametrize("status", ["completed", "failed", "cancelled", "terminated"])
def test_to_an_execution_that_has_ended_it_is_refused(status: str) -> None:
    with Harness(workflows=[reader, fails]) as durable:
        execution = durable.start(fails if status == "failed" else reader)
        if status == "cancelled":
            execution.cancel()
        if status == "terminated":
            execution.terminate()
        durable.run()
        assert execution.status == status

        with pytest.raises(
            InvalidState, match=f"execution '{execution.id}' is {status}: it takes no messages any more"
        ):
            execution.send("letters", "late")


@pytest.mark.rule("Q6")
def test_to_one_that_does_not_exist_it_is_refused_and_to_one_that_has_expired() -> None:
    with Harness(workflows=[reader]) as durable:
        with pytest.raises(ExecutionNotFound, match="there is no execution 'nobody'"):
            durable.get("nobody")

        execution = durable.start(reader)
        durable.run()
        durable.run(duration=31 * 86_400)  # longer than it is retained
        with pytest.raises(ExecutionNotFound):
            execution.send("letters", "late")


@pytest.mark.rule("Q2")
@pytest.mark.parametrize("repeated", ["before it is taken", "after it was taken"])
def test_a_repeated_id_is_taken_once(repeated: str) -> None:
    with Harness(workflows=[reader]) as durable:
        execution = durable.start(reader)
        execution.send("letters", "a", message_id="m-1")
        if repeated == "after it was taken":
            durable.run(duration=60)
        execution.send("letters", "a", message_id="m-1")
        execution.send("others", "a", message_id="m-1")
        durable.run()

        assert (execution.status, execution.output) == ("completed", ["a"])


def test_the_same_id_to_another_execution_is_another_message() -> None:
    with Harness(workflows=[reader]) as durable:
        executions = [durable.start(reader) for _ in range(2)]
        for execution in executions:
            execution.send("letters", "a", message_id="m-1")
        durable.run()

        assert [execution.output for execution in executions] == [["a"], ["a"]]


@pytest.mark.rule("Q2")
def test_a_send_whose_answer_was_lost_and_that_botocore_repeats_is_one_message() -> None:
    with Harness(workflows=[reader]) as durable:
        execution = durable.start(reader)
        durable.faults.after(1, durable.faults.lose_answer, operation="TransactWriteItems", by="client")
        execution.send("letters", "a")
        durable.run()

        assert execution.output == ["a"]


@pytest.mark.rule("E3")
def test_many_senders_at_once_lose_nothing() -> None:
    with Harness(workflows=[reader]) as durable:
        execution = durable.start(reader)

        def meanwhile() -> None:
            execution.send("letters", "b")

        durable.faults.before(1, meanwhile, operation="TransactWriteItems", by="client")
        execution.send("letters", "a")
        durable.run()

        assert sorted(execution.output) == ["a", "b"]


MISFITS: list[tuple[Callable[[Execution[Any, Any]], object], type[Exception], str, str]] = [
    (
        lambda execution: execution.send(payments, {"id": "p-1", "amount": 1}),
        InvalidInput,
        "the message to queue 'payments' does not fit: Expected `Payment`, got `dict`",
        "$",
    ),
    (
        lambda execution: execution.send(payments, Payment("p-1", "ten")),
        InvalidInput,
        "the message to queue 'payments' does not fit: ",
        "$.amount",
    ),
    (lambda execution: execution.send("q", {"a": [object()]}), InvalidInput, "can't be stored: ", "$.a[0]"),
    (lambda execution: execution.send("", "a"), InvalidName, "a queue's name is a string that is not empty", ""),
    (
        lambda execution: execution.send("q", "a", message_id=""),
        InvalidName,
        "a message id is a string of 1 to 128",
        "",
    ),
    (lambda execution: execution.send("\ud800", "a"), InvalidName, "holds a lone surrogate, which can't be stored", ""),
    (lambda execution: execution.send("q", "a", message_id="\ud800"), InvalidName, "holds a lone surrogate", ""),
    (lambda execution: execution.send("q", "a", message_id="x" * 129), InvalidName, "a message id is a string", ""),
]


@pytest.mark.rule("Q7")
def test_what_can_not_be_sent_is_refused_at_the_sender() -> None:
    with Harness(workflows=[reader]) as durable:
        execution = durable.start(reader)
        for send, kind, message, path in MISFITS:
            with pytest.raises(kind) as raised:
                send(execution)
            assert message in str(raised.value)
            if isinstance(raised.value, InvalidInput):
                assert raised.value.path == path
        durable.run()

        assert execution.output == []
