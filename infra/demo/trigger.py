"""Lambda's other event sources, in a process of their own: the table's stream and the sweeper's schedule."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import boto3

from durable.testing.aws.feed import StreamFeed
from durable.testing.sources.schedule import Schedule
from durable.testing.sources.stream import StreamReader
from infra.demo.deployment import Deployment, Lambda
from infra.demo.processes import Reports

PAUSE = 0.4  # seconds between two looks at the stream
SWEEP = timedelta(seconds=5)  # not the template's five minutes


def main(directory: Path) -> None:
    Reports.open()
    deployment = Deployment.load(directory / "deployment.json")
    runtime = Lambda(deployment)
    clock = runtime.clock
    streams = boto3.client("dynamodbstreams")
    source = runtime.source("TerminalFailure")
    feed = StreamFeed(source.stream, source.starting_position, deployment.region, streams)
    reader = StreamReader(source, feed, clock, runtime.invoke)
    every = replace(runtime.source("Sweeper"), every=SWEEP)
    schedule = Schedule(every, deployment.region, clock, runtime.invoke, began=clock.now())
    tick = schedule.tick_from(clock.now())
    while True:
        while reader.deliver():
            pass
        if clock.now() >= tick:
            schedule.fire()
            tick = schedule.tick_from(clock.now())
        clock.sleep(PAUSE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
