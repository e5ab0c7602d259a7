"""Schedules of EventBridge Scheduler in virtual time, and what a rule delivers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from durable.errors import ConfigurationError
from durable.testing import Harness
from durable.testing.clock import milliseconds
from durable.testing.sources.recurrence import recurrence

START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def durable() -> Iterator[Harness]:
    with Harness(workflows=[]) as harness:
        yield harness


def schedule(durable: Harness, expression: str, *, queue: str = "RejectedQueue", **settings: Any) -> None:
    target: Any = {
        "Arn": durable.stack.queues[queue].arn,
        "RoleArn": durable.stack.names["ScheduleRole.Arn"],
        "Input": "{}",
    }
    asked: dict[str, Any] = {
        "Name": "one",
        "GroupName": "durable",
        "ScheduleExpression": expression,
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": target,
    }
    boto3.client("scheduler").create_schedule(**asked | settings)


def made() -> list[str]:
    return [each["Name"] for each in boto3.client("scheduler").list_schedules()["Schedules"]]


def arrived(durable: Harness, queue: str = "RejectedQueue") -> list[datetime]:
    return [datetime.fromtimestamp(message.sent / 1000, UTC) for message in durable.messages(queue)]


@pytest.mark.parametrize(("action", "left"), [("DELETE", []), ("NONE", ["one"])])
def test_a_schedule_fires_once_at_its_time_and_is_then_deleted_if_it_says_so(
    durable: Harness, action: str, left: list[str]
) -> None:
    schedule(durable, "at(2031-05-06T07:08:09)", ActionAfterCompletion=action)
    durable.run()
    assert arrived(durable) == [durable.clock.moment] == [datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)]
    assert (durable.schedules, made()) == ([], left)
    assert [call.operation for call in durable.calls if call.service == "scheduler"][:1] == ["CreateSchedule"]


def test_a_schedule_of_the_past_fires_at_once(durable: Harness) -> None:
    schedule(durable, "at(2029-12-31T23:59:59)")
    durable.run()
    assert arrived(durable) == [START]


def test_a_deleted_schedule_does_not_fire(durable: Harness) -> None:
    schedule(durable, "at(2031-05-06T07:08:09)")
    boto3.client("scheduler").delete_schedule(Name="one", GroupName="durable")
    durable.run()
    assert (arrived(durable), durable.clock.moment) == ([], START)


def test_what_ticks_for_ever_keeps_nothing_going(durable: Harness) -> None:
    schedule(durable, "rate(1 hour)")
    durable.run()
    assert durable.clock.moment == START
    durable.run(timedelta(hours=2, minutes=30))
    assert arrived(durable) == [START + timedelta(hours=hour) for hour in (0, 1, 2)]


def test_a_schedule_that_moto_refused_does_not_exist(durable: Harness) -> None:
    schedule(durable, "at(2031-05-06T07:08:09)")
    with pytest.raises(boto3.client("scheduler").exceptions.ConflictException):
        schedule(durable, "at(2032-05-06T07:08:09)")
    durable.run()
    assert len(arrived(durable)) == 1


def test_a_schedule_for_something_else_than_a_queue_of_the_template_is_told(durable: Harness) -> None:
    target = {"Arn": "arn:aws:lambda:us-east-1:123456789012:function:other", "RoleArn": "arn:role"}
    schedule(durable, "at(2030-01-01T00:00:01)", Target=target)
    with pytest.raises(ConfigurationError, match="which is no queue of the template"):
        durable.run()


# --- expressions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "zone", "times"),
    [
        ("at(2030-06-01T06:00:00)", "Europe/Berlin", ["2030-06-01 04:00"]),
        ("rate(3 days)", "UTC", ["2030-01-01 00:00", "2030-01-04 00:00", "2030-01-07 00:00"]),
        ("cron(0 6 * * ? *)", "UTC", ["2030-01-01 06:00", "2030-01-02 06:00", "2030-01-03 06:00"]),
        ("cron(0/20 8-9 ? * MON-FRI *)", "UTC", ["2030-01-01 08:00", "2030-01-01 08:20", "2030-01-01 08:40"]),
        ("cron(15 10 ? * 7 *)", "UTC", ["2030-01-05 10:15", "2030-01-12 10:15", "2030-01-19 10:15"]),
        ("cron(0 12 29 FEB ? *)", "UTC", ["2032-02-29 12:00", "2036-02-29 12:00", "2040-02-29 12:00"]),
        ("cron(30 23 31 * ? *)", "UTC", ["2030-01-31 23:30", "2030-03-31 23:30", "2030-05-31 23:30"]),
        ("cron(0 2 1 1,7 ? *)", "America/New_York", ["2030-01-01 07:00", "2030-07-01 06:00", "2031-01-01 07:00"]),
        ("cron(0 0 1 1 ? 2030-2031)", "UTC", ["2030-01-01 00:00", "2031-01-01 00:00"]),
        ("cron(0 0 1 1 ? 2020)", "UTC", []),
    ],
)
def test_the_times_of_an_expression(expression: str, zone: str, times: list[str]) -> None:
    created = milliseconds(START)
    after = recurrence(expression, zone, created)
    found: list[str] = []
    moment: int | None = created - 1
    while len(found) < 3 and moment is not None and (moment := after(moment)) is not None:
        found.append(f"{datetime.fromtimestamp(moment / 1000, UTC):%Y-%m-%d %H:%M}")
    assert found == times


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("cron(0 6 * *)", "it has six fields"),
        ("cron(60 6 * * ? *)", "'60' is not within 0 to 59"),
        ("cron(0 6 L * ? *)", "'L' is not a number that durable.testing knows"),
        ("cron(0 6 ? * 6#3 *)", "'6#3' is not a number"),
        ("cron(9-5 6 * * ? *)", "'9-5' is not within 0 to 59"),
        ("often", "no rate"),
    ],
)
def test_an_expression_that_is_not_understood_is_told(expression: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        recurrence(expression, "UTC", 0)


# --- rules -----------------------------------------------------------------------------------------------------------


def test_a_rule_delivers_the_part_at_its_input_path_and_the_pump_knows_of_it() -> None:
    with Harness(workflows=[], transport="eventbridge") as durable:
        events = boto3.client("events")
        for source, detail in (("durable", {"a": [1, {"b": None}]}), ("shop", {"a": 2})):
            entry: Any = {"EventBusName": "durable", "Source": source, "DetailType": "continuation"}
            events.put_events(Entries=[entry | {"Detail": json.dumps(detail)}])
        (message,) = durable.messages()
        assert (json.loads(message.body), durable.sent) == ({"a": [1, {"b": None}]}, [message])
        durable.run()
        assert durable.messages() == []  # rejected: it is no continuation
