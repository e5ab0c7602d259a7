"""Executions in real time: the handlers in this process, the event sources by polling, whatever AWS is behind them.

Most scenarios run under a virtual clock, which only moto follows (tests/scenarios). These few need no clock of their own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from durable import Context, Step, TerminalError, Undo, workflow
from durable.aws.clients import Clients
from durable.aws.connect import Unobserved
from durable.aws.system import SystemClock
from durable.functions import wiring
from durable.runtime.client.client import Client
from durable.testing.aws.feed import StreamFeed
from durable.testing.aws.mail import Mail
from durable.testing.aws.polling import SqsPolling
from durable.testing.environment import installed
from durable.testing.functions import DeployedFunction
from durable.testing.invocations import Invocation
from durable.testing.sources.queue import QueuePoller
from durable.testing.sources.stream import StreamReader
from durable.testing.template.definitions import QueueSource, StreamSource
from durable.testing.template.stack import Stack
from durable.testing.template.template import Template
from tests.aws.conftest import TEMPLATE
from tests.aws.emulators import REGION, emulated
from tests.emulators import ENDPOINT

PATIENCE = 60.0  # seconds
done: list[str] = []


@workflow
def order(ctx: Context, fails: bool) -> str:
    ctx.step("reserve", act, rollback=undo)
    ctx.sleep("wait", 1)
    ctx.step("pay", refuse if fails else act, rollback=undo)
    return "paid"


@workflow
def large(ctx: Context, size: int) -> int:
    """Results that do not fit into one item."""
    return sum(len(ctx.step(f"page-{number}", page, size)) for number in range(4))


def act(step: Step) -> None:
    done.append(step.name)


def refuse(step: Step) -> None:
    act(step)
    raise TerminalError("no cover")


def undo(undo: Undo[None]) -> None:
    done.append(f"{undo.name} undone")


def page(step: Step, size: int) -> str:
    return "x" * size


@pytest.fixture
def transport() -> str:
    return "sqs"


@pytest.fixture
def stack(clients: Clients, transport: str) -> Iterator[Stack]:
    with emulated():
        template = Template.load(TEMPLATE, {"Transport": transport})
        yield Stack.create(template, clients.dynamodb(), clients.sqs(), events=clients.events())


class Deployed:
    """The stack's functions, whose event sources are looked at when somebody waits."""

    def __init__(self, stack: Stack, clients: Clients) -> None:
        self._clock = SystemClock()
        self._functions = {
            definition.id: DeployedFunction(definition, REGION, TEMPLATE.parent, self._clock)
            for definition in stack.functions.values()
        }
        environment = {**self._functions["Worker"].environment, "AWS_ENDPOINT_URL": ENDPOINT, "DURABLE_SCHEDULE_GROUP": "",
                       "DURABLE_SCHEDULE_ROLE": "", "DURABLE_QUEUE_ARN": ""}  # fmt: skip
        self.application = wiring.build(environment, [order, large], observer=Unobserved())
        self.client: Client = self.application.client
        streams = boto3.client("dynamodbstreams", config=Config(account_id_endpoint_mode="disabled"))
        self._looks: list[Callable[[], object]] = []
        for source in (source for definition in stack.functions.values() for source in definition.sources):
            match source:
                case QueueSource(queue=name):
                    queue = stack.queue_of(name)
                    assert queue is not None
                    polling = SqsPolling(clients.sqs(), Mail(self._clock, {}), REGION)
                    poller = QueuePoller(source, queue, polling, self._invoke)
                    self._looks.append(lambda poller=poller: (batch := poller.poll()) and batch.deliver())
                case StreamSource():
                    feed = StreamFeed(source.stream, source.starting_position, REGION, streams)
                    reader = StreamReader(source, feed, self._clock, self._invoke)
                    self._looks.append(reader.deliver)

    def _invoke(self, function: str, event: Any) -> Invocation:
        return Invocation(0, function, event, 0, self._functions[function].invoke(event), ended=True)

    def run(self, execution_id: str) -> Any:
        """The execution, when it has ended."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for look in self._looks:
                look()
            execution = self.client.get(execution_id)
            if execution.status in ("completed", "failed"):
                return execution
            time.sleep(0.1)
        raise AssertionError(f"{execution_id} has not ended: it is {execution.status}")


@pytest.fixture
def deployed(stack: Stack, clients: Clients) -> Iterator[Deployed]:
    done.clear()
    credentials = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": REGION}
    with installed(credentials):
        made = Deployed(stack, clients)
        wiring.install(made.application)
        try:
            yield made
        finally:
            wiring.install(None)


@pytest.mark.parametrize("transport", ["sqs", "eventbridge"])
def test_a_saga_completes_across_a_sleep(deployed: Deployed) -> None:
    deployed.client.start(order, False, execution_id="order-1")

    execution = deployed.run("order-1")

    assert (execution.status, execution.output, done) == ("completed", "paid", ["reserve", "pay"])


@pytest.mark.parametrize("transport", ["sqs", "eventbridge"])
def test_a_saga_rolls_back_by_the_streams_trigger(deployed: Deployed) -> None:
    deployed.client.start(order, True, execution_id="order-1")

    execution = deployed.run("order-1")

    assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
    assert done == ["reserve", "pay", "pay undone", "reserve undone"]


def test_what_is_asked_for_twice_is_one_execution(deployed: Deployed, clients: Clients, stack: Stack) -> None:
    start = json.dumps({"workflow": "order", "input": False, "execution_id": "order-1"})
    for _ in range(2):
        clients.sqs().send_message(QueueUrl=stack.queues["StartQueue"].url, MessageBody=start)

    deployed.client.start(order, False, execution_id="order-1")
    execution = deployed.run("order-1")

    assert (execution.status, done) == ("completed", ["reserve", "pay"])


def test_a_history_that_fits_no_single_item_is_kept_in_many(deployed: Deployed) -> None:
    deployed.client.start(large, 150_000, execution_id="large-1")

    execution = deployed.run("large-1")

    assert (execution.status, execution.output) == ("completed", 600_000)
