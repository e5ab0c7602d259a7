"""The ports of a deployment, each bound to the real adapter over an emulated AWS, and to the local one: one contract for both."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest

from durable.aws.s3 import S3Blobs
from durable.runtime.ports import Blobs, Ports, Publisher, Queue, Store
from durable.testing import Harness


@pytest.fixture
def durable(store: str) -> Iterator[Harness]:
    """A deployment in which nothing is yet; `store` says behind what."""
    with Harness(workflows=[], store=store) as harness:  # type: ignore[arg-type]
        yield harness


@pytest.fixture
def ports(durable: Harness) -> Ports:
    """The ports of a caller outside Lambda."""
    ports: Ports = durable.application.ports
    return ports


@pytest.fixture
def table(ports: Ports) -> Store:
    """The port of the table."""
    return ports.store


@pytest.fixture
def queue(ports: Ports) -> Queue:
    """The port of the queue of continuations."""
    return ports.queue


@pytest.fixture
def publisher(ports: Ports) -> Publisher:
    """The port of the event bus."""
    assert ports.publisher is not None
    return ports.publisher


@pytest.fixture
def blobs(durable: Harness) -> Blobs:
    """The port of the bucket."""
    services = durable._deployment.services
    if services.adapters is None:
        return S3Blobs(durable.stack.names["PayloadBucket"], lambda: boto3.client("s3"))
    blobs = services.adapters(durable.stack.environment()).blobs
    assert blobs is not None
    return blobs
