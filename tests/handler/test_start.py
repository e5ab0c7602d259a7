"""Starts from the start queue."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import boto3
import pytest

from durable.testing.harness import Harness
from tests.handler.conftest import Batch
from tests.handler.workflows import Line, Order, checkout

INPUT = {"lines": [{"sku": "a", "quantity": 1}], "total": "12.50"}
NOTHING: dict[str, Any] = {"batchItemFailures": []}


@pytest.mark.rule("E2")
def test_a_recorded_message_starts_an_execution_whose_id_is_its_own(
    durable: Harness, recorded: Callable[[str], Any]
) -> None:
    event = recorded("start")
    for _ in range(2):  # a duplicate is the same execution
        assert durable.invoke("Start", event).answer == NOTHING
    durable.run()
    execution = durable.get(checkout, "2e1424d4-f796-459a-8184-9c92662be6da")
    assert (execution.status, execution.output) == ("completed", {"total": Decimal("12.50")})
    assert durable.faults.bodies == ["reserve", "charge"]


def test_a_message_in_the_start_queue_runs_to_its_end(durable: Harness) -> None:
    body = {"workflow": "checkout", "input": INPUT, "execution_id": "order-1", "version": 1}
    queue = durable.stack.queues["StartQueue"].url
    boto3.client("sqs").send_message(QueueUrl=queue, MessageBody=json.dumps(body))
    durable.run()
    assert durable.get("order-1").status == "completed"


@pytest.mark.parametrize("input", ["", ', "input": null'])
def test_a_workflow_without_input_is_started_without(durable: Harness, batch: Batch, input: str) -> None:
    assert durable.invoke("Start", batch("start", f'{{"workflow": "ping"{input}}}')).answer == NOTHING
    assert durable.get("message-0").workflow == "ping"


@pytest.mark.rule("E6", "E10")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{", "not a start: Input data was truncated. It is "),
        ("{}", "not a start: Object missing required field `workflow`"),
        ('{"workflow": "ping", "exection_id": "a"}', "not a start: Object contains unknown field `exection_id`"),
        ('{"workflow": 1}', r"not a start: Expected `str`, got `int` - at `\$.workflow`"),
        ('{"workflow": "png"}', "WorkflowNotFound: no workflow is called 'png' here; registered: checkout, ping"),
        ('{"workflow": "ping", "version": 9}', "WorkflowNotFound: workflow 'ping' has no version 9 here"),
        ('{"workflow": "ping", "input": 1}', "InvalidInput: workflow 'ping' takes no input"),
        ('{"workflow": "ping", "execution_id": "a b"}', "InvalidName: an execution id is 1 to 100 characters"),
        ('{"workflow": "checkout"}', "InvalidInput: "),
        (
            '{"workflow": "checkout", "input": {"lines": [{"sku": "a", "quantity": "1"}]}}',
            r"InvalidInput: Expected `int`, got `str` - at `\$.lines\[0\].quantity`",
        ),
        (
            '{"workflow": "checkout", "input": {"lines": []}, "execution_id": "taken"}',
            "AlreadyStarted: execution 'taken' was started before, with another input",
        ),
    ],
)
def test_a_start_that_no_workflow_can_take_is_rejected_with_the_reason(
    durable: Harness, batch: Batch, rejected: Callable[[], list[tuple[str, str]]], body: str, reason: str
) -> None:
    durable.start(checkout, Order([Line("a", 1)]), execution_id="taken")
    event = batch("start", body, '{"workflow": "ping", "execution_id": "neighbour"}')
    assert durable.invoke("Start", event).answer == NOTHING
    assert durable.get("neighbour").status == "pending"
    ((kept, told),) = rejected()
    assert kept == body
    assert re.match(reason, told), told


@pytest.mark.rule("D9", "E6")
def test_a_start_that_could_not_be_written_comes_back_alone(durable: Harness, batch: Batch) -> None:
    durable.faults.before(1, durable.faults.refuse("AccessDeniedException"), operation="PutItem")
    event = batch("start", '{"workflow": "ping"}', '{"workflow": "ping"}')
    assert durable.invoke("Start", event).answer == {"batchItemFailures": [{"itemIdentifier": "message-0"}]}
    assert durable.get("message-1").status == "pending"
