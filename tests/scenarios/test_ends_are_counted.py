"""What operators count is counted once, by whoever brought it about, and written as the alarms and the dashboard ask for it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from durable import Context, Retry, Step, TerminalError, Undo, workflow
from durable.testing import Harness

ROOT = Path(__file__).parents[2]


class Counting(Harness):
    """With the observer of a deployment in the place of the one that numbers bodies."""

    def _observer(self) -> None:
        return None


def flaky(step: Step) -> None:
    if step.attempt == 1:
        raise ConnectionError("try again")


def refuse(step: Step) -> None:
    raise TerminalError("no")


def undo(undo: Undo) -> None:
    if undo.name == "stuck":
        raise TerminalError("already paid out")


@workflow
def order(ctx: Context, kind: str) -> None:
    ctx.step("flaky", flaky, retry=Retry(1, backoff_base=60), rollback=undo)
    if kind != "good":
        ctx.step("stuck" if kind == "stuck" else "bad", refuse, rollback=undo)


@pytest.fixture
def durable() -> Iterator[Counting]:
    with Counting(workflows=[order]) as harness:
        yield harness


def counted(printed: str) -> Counter[str]:
    """The counts that are in lines of CloudWatch's embedded metric format; each line is checked for what it claims."""
    total: Counter[str] = Counter()
    for line in map(json.loads, printed.splitlines()):
        if "_aws" not in line:
            continue
        (definition,) = line["_aws"]["CloudWatchMetrics"]
        assert (definition["Namespace"], line["service"]) == ("Durable", "durable")
        assert (definition["Dimensions"], line["workflow"]) == ([["workflow", "service"]], "order")
        for metric in definition["Metrics"]:
            if metric["Unit"] == "Count":
                total[metric["Name"]] += sum(map(int, line[metric["Name"]]))
    return total


@pytest.mark.rule("R10")
@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("good", {"ExecutionsCompleted": 1}),
        ("bad", {"ExecutionsFailed": 1, "StepsFailed": 1, "RollbacksCompleted": 1}),
        ("stuck", {"ExecutionsFailed": 1, "StepsFailed": 1, "RollbacksFailed": 1}),
    ],
)
def test_a_deployed_function_writes_what_it_counted(
    durable: Counting, capsys: pytest.CaptureFixture[str], kind: str, more: dict[str, int]
) -> None:
    durable.duplicate_all(1)
    capsys.readouterr()
    durable.start(order, kind)
    durable.run()

    assert counted(capsys.readouterr().out) == {"StepsCompleted": 1, "StepRetries": 1} | more


@pytest.mark.rule("R12")
def test_terminate_counts_what_it_ended_and_nothing_that_had_ended(
    durable: Counting, capsys: pytest.CaptureFixture[str]
) -> None:
    execution = durable.start(order, "good")
    durable.run(5)
    capsys.readouterr()
    for _ in range(2):
        execution.terminate()
    durable.application.observer.flush()

    assert counted(capsys.readouterr().out) == {"ExecutionsStarted": 1, "ExecutionsTerminated": 1}


def test_alarms_and_dashboard_ask_for_what_is_written() -> None:
    asked: set[str] = set()
    for file in ("alarms.yaml", "dashboard.yaml"):
        text = (ROOT / "infra" / file).read_text()
        asked |= set(re.findall(r'SELECT \w+\((\w+)\) FROM "Durable"', text))
        asked |= set(re.findall(r"{Durable,service,workflow} .*? MetricName=(\w+)", text))
    source = (ROOT / "durable" / "aws" / "metrics.py").read_text()

    assert len(asked) > 10
    assert [name for name in sorted(asked) if f'"{name}"' not in source] == []
