"""The trigger of a rollback."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from durable.testing.harness import Harness
from tests.handler.workflows import Line, Order, checkout

NOTHING: dict[str, Any] = {"batchItemFailures": []}


def bodies(durable: Harness) -> list[Any]:
    return [json.loads(message.body) for message in durable.messages()]


def failing(recorded: Callable[[str], Any], *executions: str) -> Any:
    (record,) = recorded("stream")["Records"]
    records = []
    for number, execution in enumerate(executions):
        made = copy.deepcopy(record)
        made["dynamodb"]["SequenceNumber"] = str(100 + number)
        made["dynamodb"]["NewImage"]["pk"] = {"S": execution}
        records.append(made)
    return {"Records": records}


@pytest.mark.rule("R3")
def test_a_recorded_event_sends_the_continuation_that_rolls_back(
    durable: Harness, recorded: Callable[[str], Any]
) -> None:
    assert durable.invoke("TerminalFailure", recorded("stream")).answer == NOTHING
    assert bodies(durable) == [
        {
            "format": 1,
            "execution": "order-1",
            "revision": 7,
            "workflow": "checkout",
            "version": 2,
            "phase": "rollback",
        }
    ]


@pytest.mark.rule("R10")
def test_the_record_of_a_failed_rollback_is_told_to_whoever_listens(
    durable: Harness, recorded: Callable[[str], Any]
) -> None:
    assert durable.invoke("TerminalFailure", recorded("stream_rollback_failed")).answer == NOTHING
    ((entry,),) = [call.parameters["Entries"] for call in durable.calls if call.operation == "PutEvents"]
    assert (entry["Source"], entry["DetailType"], json.loads(entry["Detail"])) == (
        "durable",
        "rollback-failed",
        {
            "id": "order-1:9",
            "execution": "order-1",
            "workflow": "checkout",
            "detail": {"status": "failed", "version": 2},
        },
    )
    assert bodies(durable) == []


@pytest.mark.rule("R3")
def test_from_the_first_record_that_fails_on_all_come_back(durable: Harness, recorded: Callable[[str], Any]) -> None:
    durable.faults.before(2, durable.faults.refuse("AccessDenied"), operation=durable.sending)
    answer = durable.invoke("TerminalFailure", failing(recorded, "a", "b", "c")).answer
    assert answer == {"batchItemFailures": [{"itemIdentifier": "101"}]}
    assert [body["execution"] for body in bodies(durable)] == ["a"]


def test_a_record_that_is_no_head_does_not_block_its_shard(durable: Harness, recorded: Callable[[str], Any]) -> None:
    event = failing(recorded, "a", "b")
    del event["Records"][0]["dynamodb"]["NewImage"]["revision"]
    assert durable.invoke("TerminalFailure", event).answer == NOTHING
    assert [body["execution"] for body in bodies(durable)] == ["b"]


@pytest.mark.rule("R3")
def test_a_terminal_failure_rolls_back_although_the_invocation_that_failed_is_over(durable: Harness) -> None:
    execution = durable.start(checkout, Order([Line("a", 1)], Decimal("-1")), execution_id="order-1")
    durable.run()
    assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
    assert [invocation.function for invocation in durable.invocations].count("TerminalFailure") == 1
    assert execution.state.seen == ["a", "released"]
