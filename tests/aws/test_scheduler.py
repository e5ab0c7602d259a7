"""What the runtime may expect of a queue whose long waits are scheduled."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from durable.aws.clients import Clients
from durable.aws.scheduler import ScheduledQueue, Schedules, at, name_of
from durable.aws.sqs import SqsQueue
from durable.errors import StoreError
from durable.protocol.continuation import Continuation, read
from durable.testing.clock import VirtualClock
from durable.testing.template.stack import Stack
from tests.aws.wire import answered, calls_of, failure

CONTINUATION = Continuation(execution="order-1", revision=3, workflow="checkout", version=2)
SCHEDULES = Schedules("long", "arn:aws:iam::123456789012:role/scheduler", "arn:queue", "arn:rejected")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()  # 1 January 2030, midnight


@pytest.fixture
def scheduled(queue: SqsQueue, clients: Clients, clock: VirtualClock) -> Iterator[ScheduledQueue]:
    clients.scheduler().create_schedule_group(Name="long")
    yield ScheduledQueue(queue, SCHEDULES, clients.scheduler, clock)


def schedules(clients: Clients) -> list[str]:
    return [schedule["Name"] for schedule in clients.scheduler().list_schedules(GroupName="long")["Schedules"]]


@pytest.mark.rule("Q4")
def test_a_long_wait_is_a_schedule_that_fires_once_two_minutes_before_its_end(
    scheduled: ScheduledQueue, clients: Clients
) -> None:
    with calls_of(clients.scheduler()) as calls, calls_of(clients.sqs()) as sent:
        scheduled.send(CONTINUATION, delay=86_400)
    ((operation, parameters),) = calls
    given = {name: value for name, value in parameters.items() if name not in ("ClientToken", "Name")}
    assert (operation, sent) == ("CreateSchedule", [])
    assert given == {
        "GroupName": "long",
        "ScheduleExpression": "at(2030-01-01T23:58:00)",
        "ScheduleExpressionTimezone": "UTC",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "ActionAfterCompletion": "DELETE",
        "Target": {
            "Arn": "arn:queue",
            "RoleArn": "arn:aws:iam::123456789012:role/scheduler",
            "Input": CONTINUATION.encode(),
            "RetryPolicy": {"MaximumEventAgeInSeconds": 86_400, "MaximumRetryAttempts": 185},
            "DeadLetterConfig": {"Arn": "arn:rejected"},
        },
    }
    assert read(given["Target"]["Input"]) == CONTINUATION


@pytest.mark.parametrize("delay", [0, 30, 900])
def test_a_wait_that_the_queue_can_keep_is_the_queues(
    scheduled: ScheduledQueue, clients: Clients, delay: float
) -> None:
    with calls_of(clients.scheduler()) as scheduler, calls_of(clients.sqs()) as sent:
        scheduled.send(CONTINUATION, delay)
    assert scheduler == []
    assert [parameters["DelaySeconds"] for _, parameters in sent] == [delay]


@pytest.mark.parametrize(
    ("moment", "expression"),
    [
        (1_893_456_000_000, "at(2030-01-01T00:00:00)"),
        (1_893_456_059_999, "at(2030-01-01T00:00:59)"),
        (4_102_444_800_000, "at(2100-01-01T00:00:00)"),
        (999_999_999_999_999, "at(9999-12-31T23:59:59)"),
    ],
)
def test_times_are_whole_seconds_never_late_and_have_four_digits_for_the_year(moment: int, expression: str) -> None:
    assert at(moment) == expression


def test_a_name_is_one_that_the_scheduler_takes_and_each_revision_has_its_own() -> None:
    executions = ["a", "a" * 100, "order:1", "order_1"]
    names = {
        name_of(Continuation(execution=execution, revision=revision, workflow="w", version=1))
        for execution in executions
        for revision in (1, 11, 2)
    }
    assert len(names) == 12
    assert all(re.fullmatch(r"[0-9a-zA-Z_.-]{1,64}", name) for name in names)
    other_hints = Continuation(execution="order-1", revision=3, workflow="other", version=9, phase="rollback")
    assert name_of(CONTINUATION) == name_of(other_hints)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("ResourceNotFoundException", r"order-1': ResourceNotFoundException: no\. Is its name right, and its region\?"),
        ("AccessDeniedException", r"order-1': AccessDeniedException: no\. Does the role of this function allow it\?"),
        ("ThrottlingException", r"order-1': ThrottlingException: no\.$"),
    ],
)
def test_a_schedule_that_can_not_be_made_is_a_store_error(
    scheduled: ScheduledQueue, clients: Clients, code: str, told: str
) -> None:
    with (
        answered(clients.scheduler(), "CreateSchedule", failure(code, "no.")),
        pytest.raises(StoreError, match=f"could not schedule a continuation of execution '{told}"),
    ):
        scheduled.send(CONTINUATION, delay=86_400)


def test_a_schedule_that_can_not_be_deleted_is_a_store_error(scheduled: ScheduledQueue, clients: Clients) -> None:
    with (
        answered(clients.scheduler(), "DeleteSchedule", failure("AccessDeniedException", "no.")),
        pytest.raises(StoreError, match="could not delete the schedule of execution 'order-1': AccessDenied"),
    ):
        scheduled.forget(CONTINUATION)


def test_holding_and_rejecting_are_the_queues(scheduled: ScheduledQueue, clients: Clients, stack: Stack) -> None:
    with calls_of(clients.sqs()) as calls:
        scheduled.hold("receipt-that-never-was", 10)
        scheduled.reject("{no json", "not a continuation")
    assert [operation for operation, _ in calls] == ["ChangeMessageVisibility", "SendMessage"]
    assert calls[1][1]["QueueUrl"] == stack.queues["RejectedQueue"].url
