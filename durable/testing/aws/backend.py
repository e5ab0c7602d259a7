"""Behind a harness: every AWS call of the process ends in an emulator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from durable.testing.aws.emulator import Emulator
from durable.testing.aws.feed import StreamFeed
from durable.testing.aws.mail import Mail
from durable.testing.aws.metering import Meter
from durable.testing.aws.permissions import Permissions
from durable.testing.aws.polling import SqsPolling
from durable.testing.aws.stored import AwsStored, AwsTables
from durable.testing.aws.traffic import WireTraffic
from durable.testing.aws.watch import Watch
from durable.testing.aws.wire import tapped
from durable.testing.backend import Services, World
from durable.testing.sources.stream import Feed
from durable.testing.sources.timers import Timer, Timers
from durable.testing.template.definitions import StreamSource
from durable.testing.template.stack import REGION, Stack


@contextmanager
def emulated(emulator: Emulator, world: World) -> Iterator[Services]:
    """Everything of the template is made in the emulator, through the clients that AWS itself is called with."""
    with emulator.running(), world.clock:
        stack = Stack.create(
            world.template,
            _client("dynamodb"),
            _client("sqs"),
            events=_client("events"),
            scheduler=_client("scheduler"),
            s3=_client("s3"),
        )
        meter = Meter(stack.tables, emulator.item)
        watch = Watch(meter, emulator.item)
        mail = Mail(world.clock, stack.queues, emulator.messages)
        permissions = Permissions(world.template, stack)
        traffic = WireTraffic(
            world.lifetime, world.clock, world.invocations, world.faults, permissions, mail, meter, watch
        )
        polling = SqsPolling(_client("sqs"), mail, REGION, traffic.unrecorded)
        timers = traffic.timers = _timers(world, stack, polling, traffic, permissions)

        def feed(source: StreamSource) -> Feed:
            streams = _client("dynamodbstreams")
            return StreamFeed(
                source.stream, source.starting_position, REGION, streams, traffic.unrecorded, watch.growth()
            )

        def put_event(bus: str, source: str, detail_type: str, detail: str) -> str:
            entry = {"EventBusName": bus, "Source": source, "DetailType": detail_type, "Detail": detail}
            with traffic.unrecorded():
                return str(_client("events").put_events(Entries=[entry])["Entries"][0]["EventId"])

        with tapped(traffic.carry):
            stored = _stored(stack, traffic)
            tables = AwsTables(_client("dynamodb"), traffic.unrecorded)
            yield Services(
                stack, traffic, mail, polling, timers, watch.due, feed, stored, tables, put_event, permissions
            )


def _stored(stack: Stack, traffic: WireTraffic) -> AwsStored:
    names = stack.names
    table, bucket = names.get("Table", ""), names.get("PayloadBucket", "")
    return AwsStored(_client("dynamodb"), _client("s3"), table, bucket, traffic.unrecorded)


def _timers(world: World, stack: Stack, polling: SqsPolling, traffic: WireTraffic, permissions: Permissions) -> Timers:
    def forget(timer: Timer) -> None:
        with traffic.unrecorded():  # firing is the scheduler's own business
            _client("scheduler").delete_schedule(GroupName=timer.group, Name=timer.name)

    timers = Timers(world.clock, stack.queues, polling.put, forget, permissions.check_role)
    for settings in stack.schedules:
        timers.add((settings.get("GroupName", "default"), settings["Name"]), settings)
    return timers


@cache
def _client(service: str) -> Any:
    """A client of the harness's own; making one takes 25 ms, so all harnesses of a process share them."""
    import boto3

    session: Any = boto3.Session("testing", "testing", region_name=REGION)
    return session.client(service)
