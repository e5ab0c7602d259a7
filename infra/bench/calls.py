"""AWS calls and capacity units, counted at botocore's hooks; units by DynamoDB's published rules, not by moto's constants."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

import boto3

from durable.testing import Harness
from durable.testing.aws.units import item_size
from durable.testing.calls import Call
from infra.bench import workloads
from infra.bench.report import Figure

COUNTS = (10, 100, 1_000)
BUDGET = 20  # steps an invocation, in budget mode
WRITES = frozenset({"UpdateItem", "PutItem", "SendMessage"})


def figures() -> Iterator[Figure]:
    """Calls and units, one step an invocation and many."""
    logging.disable(logging.WARNING)
    for count in COUNTS:
        yield from _mode(count, 1, calls=3.0, writes=2.75)
    for count in COUNTS:
        yield from _mode(count, BUDGET, calls=None, writes=2.0)


def _mode(count: int, steps: int, *, calls: float | None, writes: float) -> Iterator[Figure]:
    mode = "one step an invocation" if steps == 1 else f"{steps} steps an invocation"
    with Harness(workflows=[workloads.steps], steps_per_invocation=steps) as durable:
        durable.start(workloads.steps, count)
        durable.run()
        made = [call for call in durable.calls if call.by == "Worker"]
        seals = sum(call.operation == "PutItem" for call in made)
        queries = sum(call.operation == "Query" for call in made)
        continuations = sum(call.operation == "SendMessage" for call in made) + 1
        yield Figure(f"{count} steps, {mode}: calls a step", len(made) / count)
        if calls is not None:
            bare = (len(made) - seals - queries) / continuations
            yield Figure(f"{count} steps, {mode}: calls a continuation, without seals and cold reads", bare, "", calls)
        yield Figure(f"{count} steps, {mode}: segments sealed", seals)
        yield Figure(f"{count} steps, {mode}: reads of segments", queries)
        units = sum(call.units.write for call in made) / count
        yield Figure(
            f"{count} steps, {mode}: write units a step, without the indexes",
            units,
            "",
            writes if count == 100 else None,
        )
        yield Figure(f"{count} steps, {mode}: write units a step, with them", (_all(durable.calls)) / count)


def _all(calls: Iterable[Call]) -> float:
    return float(sum(call.units.write + call.units.index for call in calls))


def _sizes(durable: Harness, execution_id: str) -> list[int]:
    """The bytes of each item of an execution, by DynamoDB's rule."""
    table = durable.stack.tables["Table"].name
    found = boto3.client("dynamodb").query(
        TableName=table,
        KeyConditionExpression="pk = :id",
        ExpressionAttributeValues={":id": {"S": execution_id}},
    )
    return [item_size(item) for item in found["Items"]]


def loop_figures(iterations: int) -> Iterator[Figure]:
    """A long loop: what an iteration costs at its beginning and at its end, and what is left in the table."""
    logging.disable(logging.WARNING)
    with Harness(workflows=[workloads.loop]) as durable:
        durable.limit = 10 * iterations + 1_000
        execution = durable.start(workloads.loop, iterations)
        durable.run()
        costs: list[int] = []
        loaded: list[int] = []
        seen = most_bytes = most_items = 0
        for number in range(iterations):
            execution.send("orders", number)
            durable.run(0)
            made = [call for call in durable.calls[seen:] if call.by == "Worker"]
            costs.append(len(made))
            loaded.append(sum(call.response_bytes for call in made))
            seen = len(durable.calls)
            if number % 97 == 0:
                sizes = _sizes(durable, execution.id)
                most_items = max(most_items, len(sizes))
                most_bytes = max(most_bytes, sum(sizes))
        assert execution.status == "completed", execution.status
        tenth = max(1, iterations // 10)
        loop = f"loop of {iterations:,}"
        for what, counts in (("calls", costs), ("bytes loaded", loaded)):
            first, last = sum(counts[:tenth]) / tenth, sum(counts[-tenth:]) / tenth
            yield Figure(f"{loop}: {what} an iteration, the first tenth", first)
            yield Figure(f"{loop}: {what} an iteration, the last tenth", last, bar=1.1 * first)
        yield Figure(f"{loop}: items in the table at most", most_items, bar=12)
        yield Figure(f"{loop}: bytes in the table at most", most_bytes, bar=12_000)
