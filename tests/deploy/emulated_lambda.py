"""Lambda around the runtime: it polls queues and the stream, and hands what it finds to functions under the emulator."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import boto3

from durable.aws.system import SystemClock
from durable.testing.aws.feed import StreamFeed
from durable.testing.aws.mail import Mail
from durable.testing.aws.polling import SqsPolling
from durable.testing.environment import installed
from durable.testing.invocations import Invocation
from durable.testing.sources.queue import QueuePoller
from durable.testing.sources.stream import StreamReader
from durable.testing.template.definitions import FunctionDefinition, QueueSource, StreamSource
from durable.testing.template.stack import Stack
from infra.demo.processes import Processes
from infra.local.artefact import Artefact
from infra.local.runtime import LambdaRuntime

# Short, so that a process that died is followed soon. The template's are a minute and more, in the same proportion.
TIMEOUT = timedelta(seconds=10)
VISIBILITY = TIMEOUT + timedelta(seconds=15)
MEMORY = 1 << 30  # bytes of address space of the worker
IDLE = 0.3  # seconds between two looks at a source that was empty


@dataclass(frozen=True, slots=True)
class Emulated:
    """A deployed stack whose functions run under Lambda's runtime."""

    stack: Stack
    functions: Mapping[str, LambdaRuntime]
    traces: Path

    def post(self, function: str, event: object) -> Any:
        """What a function answers to an event; it must."""
        answer = self.functions[function].invoke(event)
        assert not answer.error, answer.error
        return answer.value


@contextmanager
def emulated_aws(folder: Path) -> Iterator[None]:
    """AWS is a process that does one request after the other, for this process and for those that it starts."""
    with Processes(folder) as processes, ExitStack() as environment:
        processes.start("aws", "infra.demo.aws")
        (url,) = processes.wait_until_ready("aws")
        variables = {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
        nobody = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_PROFILE": None}
        environment.enter_context(installed({**variables, **nobody, "AWS_DEFAULT_REGION": "us-east-1"}))
        yield


@contextmanager
def deployed(
    artefact: Artefact,
    folder: Path,
    name: str,
    *,
    receives: int | None = None,
    parameters: Mapping[str, str] | None = None,
) -> Iterator[Emulated]:
    """The artefact's stack. `receives`: after so many a continuation is a dead letter, and not after the template's 20."""
    stack = Stack.create(
        artefact.template(parameters),
        boto3.client("dynamodb"),
        boto3.client("sqs"),
        events=boto3.client("events"),
        name=name,
    )
    _hurry(stack, receives)
    traces = folder / f"{name}-traces"
    traces.mkdir()
    environment = {"AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL"], "TRACES": str(traces)}
    with ExitStack() as running:
        functions = {
            definition.id: running.enter_context(
                LambdaRuntime(_hurried(definition), artefact, environment, folder / f"{name}-{definition.id}.log",
                              memory=MEMORY if definition.id == "Worker" else None)
            )
            for definition in stack.functions.values()
        }  # fmt: skip
        running.enter_context(_polling(stack, functions))
        yield Emulated(stack, functions, traces)


def _hurry(stack: Stack, receives: int | None) -> None:
    queue = stack.queues["ContinuationQueue"]
    attributes: Any = {"VisibilityTimeout": f"{VISIBILITY.seconds}"}
    if receives is not None:
        attributes["RedrivePolicy"] = (
            f'{{"deadLetterTargetArn": "{queue.dead_letters}", "maxReceiveCount": {receives}}}'
        )
    boto3.client("sqs").set_queue_attributes(QueueUrl=queue.url, Attributes=attributes)


def _hurried(definition: FunctionDefinition) -> FunctionDefinition:
    return replace(definition, timeout=TIMEOUT) if definition.id == "Worker" else definition


@contextmanager
def _polling(stack: Stack, functions: Mapping[str, LambdaRuntime]) -> Iterator[None]:
    """A thread for each event source, as long as the context lasts."""
    stopped = Event()

    def invoke(function: str, event: Any) -> Invocation:
        answer = functions[function].invoke(event)
        error = RuntimeError(answer.error) if answer.error and not answer.died else None
        return Invocation(0, function, event, 0, answer.value, error, died=answer.died, ended=True)

    threads = [
        Thread(target=_poll, args=(look, stopped), name=f"{definition.id}-source")
        for definition in stack.functions.values()
        for source in definition.sources
        if (look := _source(stack, source, invoke)) is not None
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def _poll(look: Callable[[], bool], stopped: Event) -> None:
    while not stopped.is_set():
        if not look():
            stopped.wait(IDLE)


def _source(stack: Stack, source: object, invoke: Callable[[str, Any], Invocation]) -> Callable[[], bool] | None:
    """What looks at a source once; whether there was something. Nothing here runs for the sweeper's five minutes."""
    clock = SystemClock()
    match source:
        case QueueSource():
            queue = stack.queue_of(source.queue)
            assert queue is not None
            polling = SqsPolling(boto3.client("sqs"), Mail(clock, {}), stack.region)
            poller = QueuePoller(source, queue, polling, invoke)
            return lambda: (batch := poller.poll()) is not None and batch.deliver() is not None
        case StreamSource():
            streams = boto3.client("dynamodbstreams")
            feed = StreamFeed(source.stream, source.starting_position, stack.region, streams)
            reader = StreamReader(source, feed, clock, invoke)
            return lambda: reader.deliver() is not None
        case _:
            return None
