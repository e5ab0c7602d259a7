"""Bind the ports to AWS."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from durable.aws.clients import Clients
from durable.aws.dynamodb.store import DynamoStore
from durable.aws.eventbridge import EventBridgePublisher, EventBridgeQueue
from durable.aws.s3 import S3Blobs
from durable.aws.scheduler import ScheduledQueue
from durable.aws.sqs import SqsQueue
from durable.functions.configuration import Configuration, Transport
from durable.runtime.ports import Adapters, Clock, Queue


def adapters(configuration: Configuration, environment: Mapping[str, str], time: Clock) -> Adapters:
    """Return the adapters of this configuration; no call is made before the first use."""
    clients = _clients(environment.get("AWS_REGION"), environment.get("AWS_ENDPOINT_URL"))
    return Adapters(
        store=DynamoStore(configuration.table, clients.dynamodb, time.sleep),
        queue=_queue(configuration, clients, time),
        blobs=S3Blobs(configuration.bucket, clients.s3) if configuration.bucket else None,
        publisher=EventBridgePublisher(configuration.bus, clients.events, time.sleep) if configuration.bus else None,
    )


def _queue(configuration: Configuration, clients: Clients, time: Clock) -> Queue:
    """Return the queue, behind the bus if that is the transport, and behind the scheduler for long waits."""
    queue: Queue = SqsQueue(configuration.queue_url, clients.sqs, configuration.rejected_url)
    if configuration.transport is Transport.EVENTBRIDGE:
        queue = EventBridgeQueue(queue, configuration.bus, clients.events, time.sleep)
    if configuration.schedules is not None:
        queue = ScheduledQueue(queue, configuration.schedules, clients.scheduler, time)
    return queue


@cache
def _clients(region: str | None, endpoint: str | None) -> Clients:
    """Return the clients of this process for a Region and endpoint; however many applications are built, they are made once."""
    return Clients(region=region)  # boto3 reads the endpoint itself
