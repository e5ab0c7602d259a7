"""Binds the ports to AWS. The only reader of the environment, which it reads when the first event is there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from durable import Workflow
from durable.aws.clients import Clients
from durable.aws.dynamodb.store import DynamoStore
from durable.aws.eventbridge import EventBridgePublisher, EventBridgeQueue
from durable.aws.logging import service_logger
from durable.aws.metrics import MetricsObserver
from durable.aws.s3 import S3Blobs
from durable.aws.scheduler import ScheduledQueue
from durable.aws.sqs import SqsQueue
from durable.aws.system import LambdaProcess, RandomNonces, SystemClock
from durable.functions.configuration import Configuration, Transport
from durable.functions.discovery import discovered
from durable.runtime.application import Application, assemble
from durable.runtime.ports import Clock, Observer, Ports, Process, Queue
from durable.runtime.registry import Registry
from durable.runtime.storage.values import Vault


@dataclass(slots=True)
class _Installed:
    application: Application | None = None


_process = _Installed()


def application() -> Application:
    """The application of this process, built when it is first asked for."""
    if _process.application is None:
        _process.application = build(os.environ)
    return _process.application


def install(application: Application | None) -> None:
    """Make this the application of the process; None forgets it, and the next use builds it anew: the process is cold."""
    _process.application = application


def build(
    environment: Mapping[str, str],
    workflows: Iterable[Workflow[Any, Any, Any]] | None = None,
    clock: Clock | None = None,
    *,
    process: Process | None = None,
    observer: Observer | None = None,
) -> Application:
    """An application for this environment; by default with the workflows that DURABLE_WORKFLOWS names, and the real time.

    Raises ConfigurationError that names all that the environment lacks, and DuplicateWorkflow.
    """
    configuration = Configuration.read(environment)
    service_logger(configuration.service)
    clients = _clients(environment.get("AWS_REGION"), environment.get("AWS_ENDPOINT_URL"))
    time = clock or SystemClock()
    metrics = MetricsObserver(configuration.namespace, configuration.service)
    store = DynamoStore(configuration.table, clients.dynamodb, time.sleep)
    ports = Ports(
        store=store,
        values=Vault(store, S3Blobs(configuration.bucket, clients.s3) if configuration.bucket else None),
        queue=_queue(configuration, clients, time),
        clock=time,
        nonces=RandomNonces(),
        process=process or LambdaProcess(metrics.flush),
        observer=observer or metrics,
        publisher=EventBridgePublisher(configuration.bus, clients.events, time.sleep) if configuration.bus else None,
    )
    registry = Registry(discovered(configuration.workflows) if workflows is None else workflows)
    return assemble(configuration.settings, ports, registry)


def _queue(configuration: Configuration, clients: Clients, time: Clock) -> Queue:
    """The queue, behind what brings continuations to it at once, and behind what brings them much later."""
    queue: Queue = SqsQueue(configuration.queue_url, clients.sqs, configuration.rejected_url)
    if configuration.transport is Transport.EVENTBRIDGE:
        queue = EventBridgeQueue(queue, configuration.bus, clients.events, time.sleep)
    if configuration.schedules is not None:
        queue = ScheduledQueue(queue, configuration.schedules, clients.scheduler, time)
    return queue


@cache
def _clients(region: str | None, endpoint: str | None) -> Clients:
    """Made once in a process for each place that they call, however many applications are built in it."""
    return Clients(region=region)  # boto3 reads the endpoint itself
