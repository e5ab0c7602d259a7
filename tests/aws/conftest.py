"""An AWS with the table and the queues of the template."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from durable.aws.clients import Clients
from durable.aws.dynamodb.store import DynamoStore
from durable.aws.sqs import SqsQueue
from durable.testing.template.stack import Stack
from durable.testing.template.template import Template
from tests.aws.emulators import connected, emulated

TEMPLATE = Path(__file__).parents[2] / "template.yaml"


@pytest.fixture(scope="session")
def clients() -> Clients:
    return connected()


@pytest.fixture
def stack(clients: Clients) -> Iterator[Stack]:
    with emulated():
        yield Stack.create(Template.load(TEMPLATE), clients.dynamodb(), clients.sqs())


@pytest.fixture
def pauses() -> list[float]:
    """How long the store has waited."""
    return []


@pytest.fixture
def store(stack: Stack, clients: Clients, pauses: list[float]) -> DynamoStore:
    return DynamoStore(stack.tables["Table"].name, clients.dynamodb, pauses.append)


@pytest.fixture
def queue(stack: Stack, clients: Clients) -> SqsQueue:
    return SqsQueue(stack.queues["ContinuationQueue"].url, clients.sqs, stack.queues["RejectedQueue"].url)
