"""The deployed handlers, in a harness."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from durable.testing.functions import LambdaContext
from durable.testing.harness import Harness
from tests.handler.workflows import WORKFLOWS

EVENTS = Path(__file__).parents[1] / "events"
Batch = Callable[..., Any]


@pytest.fixture
def durable() -> Iterator[Harness]:
    with Harness(workflows=WORKFLOWS) as harness:
        yield harness


@pytest.fixture
def recorded() -> Callable[[str], Any]:
    """An event as Lambda delivered it, by name."""
    return lambda name: json.loads((EVENTS / f"{name}.json").read_text())


@pytest.fixture
def batch(recorded: Callable[[str], Any]) -> Batch:
    """A recorded SQS event of these bodies; the messages' ids are their numbers."""

    def made(name: str, *bodies: str) -> Any:
        (record,) = recorded(name)["Records"]
        records = [copy.deepcopy(record) | {"messageId": f"message-{n}", "body": body} for n, body in enumerate(bodies)]
        return {"Records": records}

    return made


@pytest.fixture
def rejected(durable: Harness) -> Callable[[], list[tuple[str, str]]]:
    """What waits for a person: bodies with the reasons."""

    def read() -> list[tuple[str, str]]:
        answer = boto3.client("sqs").receive_message(
            QueueUrl=durable.stack.queues["RejectedQueue"].url,
            MessageAttributeNames=["All"],
            MaxNumberOfMessages=10,
            WaitTimeSeconds=0,
        )
        return [
            (message["Body"], message["MessageAttributes"]["reason"]["StringValue"])
            for message in answer.get("Messages", [])
        ]

    return read


@pytest.fixture
def context(durable: Harness) -> LambdaContext:
    """An invocation of the worker that has just begun."""
    return LambdaContext(
        function_name="durable-Worker",
        invoked_function_arn="arn:aws:lambda:us-east-1:123456789012:function:durable-Worker",
        memory_limit_in_mb="512",
        aws_request_id="request-1",
        log_group_name="/aws/lambda/durable-Worker",
        log_stream_name="2030/01/01/[$LATEST]0",
        deadline=durable.clock.now() + 60_000,
        clock=durable.clock,
    )
