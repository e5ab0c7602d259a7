"""Batches of continuations: what is done, what comes back, what is rejected."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from durable.functions import wiring, worker
from durable.protocol.continuation import Continuation
from durable.testing.harness import Harness
from tests.handler.conftest import Batch
from tests.handler.workflows import Line, Order, checkout, ping

ORDER = Order([Line("a", 1)], Decimal("12.50"))
NOTHING: dict[str, Any] = {"batchItemFailures": []}


def continuation(execution: str = "order-1", revision: int = 0, **more: Any) -> str:
    return Continuation(
        **{"execution": execution, "revision": revision, "workflow": "checkout", "version": 1, **more}
    ).encode()


@pytest.mark.rule("D1")
def test_a_recorded_event_advances_its_execution(durable: Harness, recorded: Callable[[str], Any]) -> None:
    durable.start(checkout, ORDER, execution_id="order-1")
    event = recorded("continuation")
    event["Records"][0]["body"] = continuation()
    assert durable.invoke("Worker", event).answer == NOTHING
    assert [entry.path for entry in durable.get("order-1").history] == ["reserve"]


@pytest.mark.rule("E6")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{no json", "not a continuation: JSON is malformed"),
        ("[]", "not a continuation: Expected `object`"),
        ("{}", "not a continuation: Object missing required field `format`"),
        ('{"format": 1, "execution": "order-1"}', "a continuation that lacks something: .*`revision`"),
        ('{"format": 0, "anything": true}', "a continuation of format 0, which there has never been"),
        ('{"format": "1"}', "not a continuation: Expected `int`, got `str`"),
    ],
)
def test_a_message_that_can_not_be_read_is_rejected_with_the_reason(
    durable: Harness,
    batch: Batch,
    rejected: Callable[[], list[tuple[str, str]]],
    body: str,
    reason: str,
) -> None:
    durable.start(ping, execution_id="order-1")
    healthy = continuation(workflow="ping")
    assert durable.invoke("Worker", batch("continuation", body, healthy)).answer == NOTHING
    assert durable.get("order-1").status == "completed"  # its neighbour was dealt with
    ((kept, told),) = rejected()
    assert kept == body
    assert re.match(reason, told), told


@pytest.mark.rule("E6")
def test_exactly_what_failed_comes_back(durable: Harness, batch: Batch) -> None:
    for number in range(3):
        durable.start(ping, execution_id=f"order-{number}")
    unknown = continuation("order-1", workflow="not-here")
    event = batch(
        "continuation", continuation("order-0", workflow="ping"), unknown, continuation("order-2", workflow="ping")
    )
    assert durable.invoke("Worker", event).answer == {"batchItemFailures": [{"itemIdentifier": "message-1"}]}
    assert [durable.get(f"order-{number}").status for number in range(3)] == ["completed", "pending", "completed"]


@pytest.mark.rule("D9", "E6")
def test_a_fault_of_the_infrastructure_returns_the_message_and_raises_nothing(durable: Harness, batch: Batch) -> None:
    durable.start(ping, execution_id="order-1")
    durable.faults.before(1, durable.faults.refuse("ThrottlingException"), operation="UpdateItem", times=99)
    invocation = durable.invoke("Worker", batch("continuation", continuation(workflow="ping")))
    assert invocation.answer == {"batchItemFailures": [{"itemIdentifier": "message-0"}]}
    assert durable.get("order-1").status == "pending"


@pytest.mark.rule("E6")
def test_a_fault_of_ours_returns_the_message_alone_and_raises_nothing(
    durable: Harness, batch: Batch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise LookupError("no such row")

    durable.start(ping, execution_id="order-2")
    durable.faults.before(1, fail, operation="UpdateItem")
    event = batch("continuation", continuation(), continuation("order-2", workflow="ping"))
    assert durable.invoke("Worker", event).answer == {"batchItemFailures": [{"itemIdentifier": "message-0"}]}
    assert durable.get("order-2").status == "completed"
    assert "no such row" in caplog.text


@pytest.mark.rule("E6")
def test_two_messages_of_one_execution_in_one_batch_take_their_turn(durable: Harness, batch: Batch) -> None:
    durable.start(checkout, ORDER, execution_id="order-1")
    event = batch("continuation", continuation(revision=0), continuation(revision=0), continuation(revision=1))
    assert durable.invoke("Worker", event).answer == NOTHING  # the second is of a revision that is gone
    assert [entry.path for entry in durable.get("order-1").history] == ["reserve", "charge"]


@pytest.mark.rule("E6", "S4")
def test_a_batch_stops_when_half_of_its_time_is_over(durable: Harness, batch: Batch) -> None:
    durable.start(checkout, ORDER, execution_id="order-0")
    durable.start(ping, execution_id="order-1")
    durable.faults.in_body(1, lambda: durable.clock.advance(35))  # of 60 seconds
    event = batch("continuation", continuation("order-0"), continuation("order-1", workflow="ping"))
    assert durable.invoke("Worker", event).answer == {"batchItemFailures": [{"itemIdentifier": "message-1"}]}
    assert [len(durable.get("order-0").history), durable.get("order-1").status] == [1, "pending"]


def test_an_event_that_is_no_batch_is_told_so(durable: Harness) -> None:
    invocation = durable.invoke("Worker", {"hello": "world"})
    assert str(invocation.error).startswith("not an event of a queue: it has no list of Records.")


def test_the_lines_of_the_log_carry_the_invocation(
    durable: Harness, context: Any, capsys: pytest.CaptureFixture[str], batch: Batch
) -> None:
    wiring.install(durable.application)
    worker.handler(batch("continuation", continuation("no-such-order")), context)
    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (line["message"], line["function_name"], line["function_request_id"], line["execution"]) == (
        "delete: the execution has ended",
        "durable-Worker",
        "request-1",
        "no-such-order",
    )
