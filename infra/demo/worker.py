"""A worker: polls the queues and runs the deployed handlers, until it is killed."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import boto3

from durable.testing.aws.mail import Mail
from durable.testing.aws.polling import SqsPolling
from durable.testing.sources.queue import QueuePoller
from infra.demo.deployment import Deployment, Lambda
from infra.demo.kills import plan
from infra.demo.killswitch import KillSwitch
from infra.demo.processes import Reports
from infra.demo.scenario import Scenario

FUNCTIONS = ("Worker", "Start", "DeadLetters")
# Seconds. A poll itself never waits: it would block all that moto serves.
IDLE = 0.1  # when there was nothing to do
ASIDE = 0.5  # between two looks at the queues beside the continuations'


def main(directory: Path, transfers: int, kills: int, seed: int) -> None:
    reports = Reports.open()
    switch = KillSwitch(plan(Scenario.load(transfers), kills, seed), directory / "kills", reports)
    switch.install()
    deployment = Deployment.load(directory / "deployment.json")
    runtime = Lambda(deployment)
    runtime.warm(*FUNCTIONS)
    polling = SqsPolling(boto3.client("sqs"), Mail(runtime.clock, {}), deployment.region)
    pollers = [
        QueuePoller(source, deployment.queue(source.queue), polling, runtime.invoke)
        for source in map(runtime.source, FUNCTIONS)
    ]
    continuations, *others = pollers
    looked = 0.0
    while True:
        turn = [continuations]
        if time.monotonic() - looked > ASIDE:
            looked = time.monotonic()
            turn += others
        if not sum(deliver(poller, switch, reports) for poller in turn):
            runtime.clock.sleep(IDLE)


def deliver(poller: QueuePoller, switch: KillSwitch, reports: Reports) -> bool:
    """Hand the next batch of a queue to its function; False when there is none."""
    batch = poller.poll()
    if batch is None:
        return False
    for record in batch.records:
        if int(record["attributes"]["ApproximateReceiveCount"]) > 1:
            reports.send("redelivery")
        switch.delivered(json.loads(record["body"]).get("execution", ""))
    batch.deliver()
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
