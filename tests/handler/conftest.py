"""The deployed handlers, in a harness."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from durable.testing.functions import LambdaContext
from durable.testing.harness import Harness
from tests.handler.workflows import WORKFLOWS

EVENTS = Path(__file__).parents[1] / "events"
Ask = Callable[..., tuple[int, Any]]
Batch = Callable[..., Any]


@pytest.fixture(autouse=True)
def on_each_store(store: str) -> None:
    """Every handler's test runs on every store."""


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

    return lambda: [
        (message.body, message.attributes["reason"]["StringValue"]) for message in durable.messages("RejectedQueue")
    ]


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


@pytest.fixture
def ask(durable: Harness, recorded: Callable[[str], Any]) -> Ask:
    """Sends a request; status and body of the answer."""
    template = recorded("http")

    def send(
        method: str,
        path: str,
        body: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        encoded: bool = False,
    ) -> tuple[int, Any]:
        event = copy.deepcopy(template)
        del event["headers"]["idempotency-key"]
        event |= {"rawPath": path, "body": body, "isBase64Encoded": encoded}
        event["headers"] |= dict(headers or {})
        event["requestContext"]["http"] |= {"method": method, "path": path}
        if query:
            event["queryStringParameters"] = dict(query)
        invocation = durable.invoke("Api", event)
        assert invocation.error is None
        answer = invocation.answer
        assert answer["headers"]["Content-Type"] == "application/json"
        assert "Traceback" not in answer["body"]
        return answer["statusCode"], json.loads(answer["body"])

    return send
