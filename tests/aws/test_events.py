"""Lambda's records, as recorded, to what the runtime takes; and what is said of those that are not as they should be."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from durable.functions.events import parsing
from durable.functions.events.parsing import Change
from durable.protocol.continuation import Continuation, Delivery, UnreadableMessage
from durable.protocol.head import Status

EVENTS = Path(__file__).parents[1] / "events"


def recorded(name: str) -> Any:
    return json.loads((EVENTS / f"{name}.json").read_text())


def test_an_sqs_record_is_the_delivery_of_a_continuation() -> None:
    (record,) = parsing.records(recorded("continuation"), "a queue")
    assert parsing.delivery(record, 1_900_000_000_000) == Delivery(
        Continuation(execution="order-1", revision=3, workflow="checkout", version=2),
        message_id="059f36b4-87a3-44ab-83d2-661975830a7d",
        receipt="durable-ContinuationQueue-1ABC AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a",
        received=1_900_000_000_000,
    )


@pytest.mark.parametrize("field", ["body", "messageId", "receiptHandle"])
def test_an_sqs_record_without_something_says_what_it_lacks(field: str) -> None:
    record = recorded("continuation")["Records"][0]
    del record[field]
    with pytest.raises(UnreadableMessage, match=f"an SQS record without {field}"):
        parsing.delivery(record, 0)


def test_a_stream_record_is_the_change_of_a_heads_status() -> None:
    (record,) = parsing.records(recorded("stream"), "a stream")
    assert parsing.sequence_number(record) == "4421584500000000017450439091"
    assert parsing.change(record) == Change("order-1", 7, "checkout", 2, Status.FAILING)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["dynamodb"], None, "a stream record without dynamodb"),
        (["dynamodb", "NewImage"], None, "a stream record without NewImage: the stream's view type must be"),
        (["dynamodb", "NewImage", "pk"], None, "whose item has no pk of type S"),
        (["dynamodb", "NewImage", "revision"], {"S": "7"}, "whose item has no revision of type N"),
        (["dynamodb", "NewImage", "revision"], {"N": "7.5"}, "whose revision is '7.5', which is no whole number"),
        (["dynamodb", "NewImage", "status"], {"S": "broken"}, "whose status is 'broken', not one of pending, "),
    ],
)
def test_a_stream_record_that_is_no_head_says_what_is_wrong(path: list[str], value: Any, message: str) -> None:
    record = copy.deepcopy(recorded("stream")["Records"][0])
    *above, last = path
    parent = record
    for name in above:
        parent = parent[name]
    parent[last] = value
    with pytest.raises(UnreadableMessage, match=message):
        parsing.change(record)


@pytest.mark.parametrize("event", [{}, {"Records": None}, {"Records": ["text"]}, [], None, "event"])
def test_what_is_no_batch_is_told_so(event: Any) -> None:
    with pytest.raises(UnreadableMessage, match=r"not an event of a queue: it has no list of Records\."):
        parsing.records(event, "a queue")
