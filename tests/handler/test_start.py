"""Starts from the start queue."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from durable.testing.harness import Harness
from tests.handler.conftest import Batch
from tests.handler.workflows import WORKFLOWS, Line, Order, checkout

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
    durable.put_message(json.dumps(body), "StartQueue")
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


# --- by events and by the clock --------------------------------------------------------------------------------------


@pytest.mark.rule("E2")
def test_a_recorded_event_starts_an_execution_whose_id_is_its_own(
    durable: Harness, recorded: Callable[[str], Any]
) -> None:
    event = recorded("start_event")
    for _ in range(2):
        invocation = durable.invoke("Start", event)
        assert (invocation.answer, invocation.error) == (None, None)
    durable.run()
    assert durable.get(checkout, event["id"]).output == {"total": Decimal("12.50")}
    assert durable.faults.bodies == ["reserve", "charge"]


def test_an_event_in_the_start_queue_is_read_too(
    durable: Harness, recorded: Callable[[str], Any], batch: Batch
) -> None:
    event = recorded("start_event")
    assert durable.invoke("Start", batch("start", json.dumps(event))).answer == NOTHING
    assert durable.get(event["id"]).workflow == "checkout"


def test_a_start_by_itself_has_the_id_of_its_invocation_unless_it_brings_one(durable: Harness) -> None:
    durable.invoke("Start", {"workflow": "ping", "execution_id": "mine"})
    assert durable.get("mine").status == "pending"
    durable.invoke("Start", {"workflow": "ping"})
    (started,) = [call.item["pk"] for call in durable.calls if call.operation == "PutItem" and call.item][1:]
    assert re.fullmatch(r"[0-9a-f-]{36}", started)


def test_an_input_may_be_a_whole_event(durable: Harness, batch: Batch) -> None:
    event = {"id": "1", "source": "shop", "detail-type": "order placed", "detail": {}}
    body = {"workflow": "checkout", "input": {"lines": [], "event": event}}
    durable.invoke("Start", batch("start", json.dumps(body)))
    assert durable.get("message-0").workflow == "checkout"


@pytest.mark.rule("E10")
@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({}, "not a start: Object missing required field `workflow`"),
        ([], "not a start: Expected `object`, got `array`"),
        ({"workflow": "png"}, "WorkflowNotFound: no workflow is called 'png' here"),
        ({"detail-type": "order placed", "source": "shop"}, "an EventBridge event that lacks something"),
        (
            {"detail-type": "order placed", "source": "shop", "id": "1", "detail": {"order": 1}},
            "not a start: Object contains unknown field `order`",
        ),
        (
            {"detail-type": "order placed", "source": "shop", "id": "a b", "detail": {"workflow": "ping"}},
            "InvalidName: an execution id is 1 to 100 characters",
        ),
    ],
)
def test_an_event_that_starts_nothing_is_rejected_with_the_reason(
    durable: Harness, rejected: Callable[[], list[tuple[str, str]]], event: Any, reason: str
) -> None:
    invocation = durable.invoke("Start", event)
    assert (invocation.answer, invocation.error) == (None, None)
    ((kept, told),) = rejected()
    assert json.loads(kept) == event
    assert told.startswith(reason), told


@pytest.mark.rule("D9")
def test_an_event_whose_execution_could_not_be_written_is_tried_again_by_lambda(durable: Harness) -> None:
    durable.faults.before(1, durable.faults.refuse("AccessDeniedException"), operation="PutItem")
    invocation = durable.invoke("Start", {"workflow": "ping"})
    assert type(invocation.error).__name__ == "StoreError"


PLACED = {
    "StartEventPattern": '{"source": ["shop"], "detail-type": ["order placed"]}',
    "StartEventWorkflow": "checkout",
}


@pytest.mark.parametrize("transport", ["sqs", "eventbridge"])
def test_events_that_fit_the_pattern_start_the_workflow_with_the_part_at_the_input_path(transport: Any) -> None:
    parameters = PLACED | {"StartEventInputPath": "$.detail.order", "StartEventBus": "durable"}
    with Harness(workflows=WORKFLOWS, transport=transport, parameters=parameters) as durable:
        placed = durable.put_event("shop", "order placed", {"order": INPUT}, bus="durable")
        durable.put_event("warehouse", "order placed", {}, bus="durable")
        durable.run()
        execution = durable.get(checkout, placed)
        assert (execution.status, execution.output) == ("completed", {"total": Decimal("12.50")})
        assert {
            json.loads(message.body)["execution_id"] for message in durable.sent if message.queue == "StartQueue"
        } == {execution.id}


@pytest.mark.rule("E2")
def test_every_tick_of_a_schedule_starts_one_execution_named_by_its_time() -> None:
    parameters = {"StartSchedule": "rate(1 day)", "StartScheduleWorkflow": "ping"}
    with Harness(workflows=WORKFLOWS, parameters=parameters) as durable:
        durable.duplicate_all()  # a tick may come twice
        durable.run(timedelta(days=2, hours=1))
        for day in (1, 2, 3):
            assert durable.get(f"ping-2030-01-0{day}T00:00:00Z").status == "completed"
        started = [
            call for call in durable.calls if call.by == "Start" and call.operation == "PutItem" and not call.error
        ]
        assert len(started) == 3


def test_a_schedule_at_a_time_of_its_zone_starts_one_execution_with_its_input() -> None:
    parameters = {
        "StartSchedule": "at(2030-06-01T06:00:00)",
        "StartScheduleTimezone": "Europe/Berlin",
        "StartScheduleWorkflow": "checkout",
        "StartScheduleInput": json.dumps(INPUT),
    }
    with Harness(workflows=WORKFLOWS, parameters=parameters) as durable:
        durable.run()
        execution = durable.get(checkout, "checkout-2030-06-01T04:00:00Z")
        assert (execution.status, execution.output) == ("completed", {"total": Decimal("12.50")})
        assert durable.clock.moment == datetime(2030, 6, 1, 4, 10, tzinfo=UTC)  # it sleeps for ten minutes
