"""The stack of `template.yaml` at the demo's endpoint, and its functions as a process of the demo invokes them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import boto3

from durable.aws.system import SystemClock
from durable.testing.functions import DeployedFunction
from durable.testing.invocations import Invocation
from durable.testing.template.definitions import FunctionDefinition, functions
from durable.testing.template.stack import Queue, Stack
from durable.testing.template.template import Template

# Not the template's minute and more: a kill then costs seconds.
WORKER_TIMEOUT = timedelta(seconds=5)
LEASE_MARGIN = timedelta(seconds=1)  # the margin is for clocks that differ, and here is one clock
VISIBILITY = WORKER_TIMEOUT + LEASE_MARGIN + timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Deployment:
    """What was made from the template, as every process of the demo can read it."""

    region: str
    names: Mapping[str, Any]
    queues: Mapping[str, Queue]

    @classmethod
    def create(cls) -> Self:
        """Make the tables and queues, with the demo's short times."""
        sqs = boto3.client("sqs")
        stack = Stack.create(Template.load(), boto3.client("dynamodb"), sqs, name="demo")
        url = stack.queues["ContinuationQueue"].url
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": f"{VISIBILITY.seconds}"})
        return cls(stack.region, stack.names, stack.queues)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> Self:
        content = json.loads(path.read_text())
        queues = {name: Queue(**queue) for name, queue in content["queues"].items()}
        return cls(content["region"], content["names"], queues)

    @property
    def table(self) -> str:
        return str(self.names["Table"])

    def queue(self, arn: str) -> Queue:
        return next(queue for queue in self.queues.values() if queue.arn == arn)


class Lambda:
    """Invokes the deployed functions in this process, and stops the process at a function's deadline as Lambda does."""

    def __init__(self, deployment: Deployment) -> None:
        template = Template.load()
        self.clock = SystemClock()
        self._functions = {
            definition.id: DeployedFunction(definition, deployment.region, template.path.parent, self.clock)
            for definition in map(_hurried, functions(template, deployment.names))
        }
        self._invocations = 0

    def source(self, function: str) -> Any:
        """The first event source of a function."""
        return self._functions[function].definition.sources[0]

    def warm(self, *ids: str) -> None:
        """Import the handlers, as Lambda does before the first event."""
        for function in ids:
            self._functions[function].handler()

    def invoke(self, function: str, event: Any) -> Invocation:
        """Invoke a function; what it raises is in the invocation."""
        deployed = self._functions[function]
        context = deployed.context()
        self._invocations += 1
        invocation = Invocation(self._invocations, function, event, context.deadline)
        signal.setitimer(signal.ITIMER_REAL, deployed.definition.timeout.total_seconds())
        try:
            invocation.answer = deployed.invoke(event, context)
        except Exception as error:
            print(f"{function} raised {error!r}", flush=True)
            invocation.error = error
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return invocation


def _hurried(definition: FunctionDefinition) -> FunctionDefinition:
    if definition.id != "Worker":
        return definition
    margin = {"DURABLE_LEASE_MARGIN": f"{LEASE_MARGIN.total_seconds():g}"}
    return replace(definition, timeout=WORKER_TIMEOUT, environment={**definition.environment, **margin})


def environment(aws: str, bank: str) -> dict[str, str]:
    """What the demo's processes find in their environment: where AWS and the banks are."""
    return os.environ | {
        "AWS_ENDPOINT_URL": aws,
        "AWS_ACCESS_KEY_ID": "demo",
        "AWS_SECRET_ACCESS_KEY": "demo",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "5",
        "DEMO_BANK_URL": bank,
    }
