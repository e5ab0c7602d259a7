"""What the runtime may expect of continuations over a bus, and users of the events that they publish."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from durable.aws.clients import Clients
from durable.aws.eventbridge import EventBridgePublisher, EventBridgeQueue
from durable.aws.sqs import SqsQueue
from durable.errors import StoreError
from durable.functions.events import parsing
from durable.protocol.continuation import Continuation, UnreadableMessage
from durable.testing.template.stack import Stack
from durable.testing.template.template import Template
from tests.aws.conftest import TEMPLATE
from tests.aws.emulators import emulated
from tests.aws.wire import answered, calls_of, failure
from tests.emulators import moto_only

CONTINUATION = Continuation(execution="order-1", revision=3, workflow="checkout", version=2, phase="rollback")
RECORDED = Path(__file__).parents[1] / "events"


@pytest.fixture
def stack(clients: Clients) -> Iterator[Stack]:
    with emulated():
        template = Template.load(TEMPLATE, {"Transport": "eventbridge"})
        yield Stack.create(template, clients.dynamodb(), clients.sqs(), events=clients.events())


@pytest.fixture
def bus(queue: SqsQueue, clients: Clients, pauses: list[float]) -> EventBridgeQueue:
    return EventBridgeQueue(queue, "durable", clients.events, pauses.append)


@pytest.fixture
def publisher(stack: Stack, clients: Clients, pauses: list[float]) -> EventBridgePublisher:
    return EventBridgePublisher("durable", clients.events, pauses.append)


def refused(code: str, message: str = "no") -> dict[str, Any]:
    """An answer of 200 that took nothing."""
    return {"FailedEntryCount": 1, "Entries": [{"ErrorCode": code, "ErrorMessage": message}]}


def received(clients: Clients, stack: Stack) -> list[str]:
    answer = clients.sqs().receive_message(QueueUrl=stack.queues["ContinuationQueue"].url, WaitTimeSeconds=0)
    return [message["Body"] for message in answer.get("Messages", [])]


# --- continuations ---------------------------------------------------------------------------------------------------


@pytest.mark.rule("E3")
def test_a_continuation_is_published_and_comes_to_the_same_queue(
    bus: EventBridgeQueue, clients: Clients, stack: Stack
) -> None:
    with calls_of(clients.events()) as calls, calls_of(clients.sqs()) as sent:
        bus.send(CONTINUATION)
    (entry,) = calls[0][1]["Entries"]
    assert sent == []
    assert entry == {
        "EventBusName": "durable",
        "Source": "durable",
        "DetailType": "continuation",
        "Detail": CONTINUATION.encode(),
    }
    (body,) = received(clients, stack)
    assert parsing.continuation(body) == CONTINUATION


def test_a_delayed_one_goes_into_the_queue_directly(bus: EventBridgeQueue, clients: Clients) -> None:
    with calls_of(clients.events()) as published, calls_of(clients.sqs()) as sent:
        bus.send(CONTINUATION, delay=0.2)
    assert published == []
    assert [parameters["DelaySeconds"] for _, parameters in sent] == [1]


@pytest.mark.rule("D9")
@pytest.mark.parametrize("code", ["ThrottlingException", "InternalFailure", "InternalException"])
def test_an_entry_that_failed_for_a_passing_reason_is_put_once_more(
    bus: EventBridgeQueue, clients: Clients, stack: Stack, pauses: list[float], code: str
) -> None:
    with answered(clients.events(), "PutEvents", refused(code)):
        bus.send(CONTINUATION)
    assert [parsing.continuation(body) for body in received(clients, stack)] == [CONTINUATION]
    assert len(pauses) == 1
    assert 0 <= pauses[0] <= 0.2


@pytest.mark.rule("D9")
def test_an_entry_that_failed_twice_is_a_store_error(bus: EventBridgeQueue, clients: Clients) -> None:
    twice = refused("ThrottlingException", "slow down"), refused("InternalFailure", "sorry")
    with (
        answered(clients.events(), "PutEvents", *twice),
        pytest.raises(StoreError, match="publish a continuation of execution 'order-1': InternalFailure: sorry"),
    ):
        bus.send(CONTINUATION)


@pytest.mark.parametrize("code", ["MalformedDetail", "NotAuthorizedForSourceException", "AccessDeniedException"])
def test_an_entry_that_failed_for_good_is_not_put_again(
    bus: EventBridgeQueue, clients: Clients, pauses: list[float], code: str
) -> None:
    with answered(clients.events(), "PutEvents", refused(code)), pytest.raises(StoreError, match=f"{code}: no"):
        bus.send(CONTINUATION)
    assert pauses == []


def test_a_bus_out_of_reach_is_a_store_error(bus: EventBridgeQueue, clients: Clients) -> None:
    with (
        answered(clients.events(), "PutEvents", failure("ResourceNotFoundException", "which?")),
        pytest.raises(StoreError, match=r"ResourceNotFoundException: which\? Is its name right"),
    ):
        bus.send(CONTINUATION)


def test_holding_rejecting_and_forgetting_are_the_queues(bus: EventBridgeQueue, clients: Clients) -> None:
    with calls_of(clients.sqs()) as calls, calls_of(clients.events()) as published:
        bus.hold("receipt-that-never-was", 10)
        bus.reject("{no json", "not a continuation")
        bus.forget(CONTINUATION)
    assert [operation for operation, _ in calls] == ["ChangeMessageVisibility", "SendMessage"]
    assert published == []


# --- what the queue then holds ---------------------------------------------------------------------------------------


def whole(**changes: Any) -> str:
    event = json.loads((RECORDED / "continuation_event.json").read_text())
    return json.dumps({**event, **changes})


def test_a_continuation_is_read_by_itself_or_as_the_detail_of_a_whole_event() -> None:
    assert parsing.continuation(CONTINUATION.encode()) == CONTINUATION
    assert parsing.continuation(whole()) == CONTINUATION


@pytest.mark.rule("E6")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (whole(source="shop"), "an event 'continuation' of 'shop', not a 'continuation' of 'durable'"),
        (whole(**{"detail-type": "order placed"}), "an event 'order placed' of 'durable', not a"),
        (whole(**{"detail-type": 1}), r"an EventBridge event that lacks something: .*\$\.detail-type"),
        ('{"detail-type": "continuation", "id": "a", "source": "durable"}', "lacks something: .*`detail`"),
        (whole(detail={"format": 1}), "a continuation that lacks something"),
        (whole(detail={**json.loads(CONTINUATION.encode()), "format": 0}), "a continuation of format 0"),
        (whole(detail="order-1"), "not a continuation"),
        (whole()[:-1], "not a continuation: Input data was truncated"),
    ],
)
def test_another_event_is_unreadable_and_the_reason_says_why(body: str, reason: str) -> None:
    with pytest.raises(UnreadableMessage, match=reason):
        parsing.continuation(body)


def test_what_merely_mentions_an_events_field_is_no_event() -> None:
    odd = Continuation(execution="a", revision=1, workflow='say "detail-type" twice', version=1)
    assert parsing.continuation(odd.encode()) == odd
    assert parsing.event_in('{"workflow": "audit", "input": {"detail-type": "order placed"}}') is None


# --- events for subscribers ------------------------------------------------------------------------------------------


def test_an_event_is_published_as_it_is(publisher: EventBridgePublisher, clients: Clients) -> None:
    with calls_of(clients.events()) as calls:
        publisher.publish("order placed", "shop", '{"order": 1}')
    assert [(operation, parameters["Entries"]) for operation, parameters in calls] == [
        (
            "PutEvents",
            [
                {
                    "EventBusName": "durable",
                    "Source": "shop",
                    "DetailType": "order placed",
                    "Detail": '{"order": 1}',
                }
            ],
        )
    ]


@moto_only  # MiniStack takes a detail that is no JSON object
def test_an_event_that_was_not_taken_is_a_store_error(publisher: EventBridgePublisher) -> None:
    with pytest.raises(StoreError, match="could not publish event 'bad': MalformedDetail: Detail is malformed"):
        publisher.publish("bad", "shop", "{no json")
