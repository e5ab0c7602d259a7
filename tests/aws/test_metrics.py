"""What is counted, in CloudWatch's embedded format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from durable.aws.metrics import MetricsObserver
from durable.protocol.head import Status
from durable.runtime.events import BodyStarted, ExecutionEnded, ExecutionStarted, Incident, IncidentKind, StepEnded


@pytest.fixture
def observer() -> MetricsObserver:
    return MetricsObserver("Durable", "shop")


def written(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def values(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != "_aws"}


def step(outcome: str, *, rollback: bool = False, seconds: float = 0.25) -> StepEnded:
    return StepEnded("order-1", "checkout", "charge", rollback, 1, seconds, outcome, None)


def ended(status: Status, rollback: str = "none") -> ExecutionEnded:
    return ExecutionEnded("order-1", "checkout", status, rollback, 1.5)


def test_nothing_is_written_and_nothing_is_warned_of_when_nothing_happened(
    observer: MetricsObserver, capsys: pytest.CaptureFixture[str]
) -> None:
    observer.observe(BodyStarted("order-1", "checkout", "charge", False, 1))
    observer.observe(step("completed", rollback=True))
    observer.flush()
    assert written(capsys) == []


def test_what_happened_is_one_line_for_each_workflow(
    observer: MetricsObserver, capsys: pytest.CaptureFixture[str]
) -> None:
    observer.observe(ExecutionStarted("order-1", "checkout"))
    for outcome in ("retrying", "completed", "completed", "failed"):
        observer.observe(step(outcome))
    observer.observe(ended(Status.FAILED, "completed"))
    observer.observe(ExecutionStarted("refund-1", "refund"))
    observer.flush()
    checkout, refund = written(capsys)
    assert values(checkout) == {
        "workflow": "checkout",
        "service": "shop",
        "ExecutionsStarted": [1.0],
        "StepRetries": [1.0],
        "StepsCompleted": [1.0, 1.0],
        "StepsFailed": [1.0],
        "StepDuration": [250.0, 250.0, 250.0, 250.0],
        "ExecutionsFailed": [1.0],
        "ExecutionDuration": [1500.0],
        "RollbacksCompleted": [1.0],
    }
    assert values(refund) == {"workflow": "refund", "service": "shop", "ExecutionsStarted": [1.0]}
    (definition,) = refund["_aws"]["CloudWatchMetrics"]
    assert definition == {
        "Namespace": "Durable",
        "Dimensions": [["workflow", "service"]],
        "Metrics": [{"Name": "ExecutionsStarted", "Unit": "Count"}],
    }


@pytest.mark.parametrize(
    ("status", "rollback", "names"),
    [
        (Status.COMPLETED, "none", ["ExecutionsCompleted", "ExecutionDuration"]),
        (Status.FAILED, "failed", ["ExecutionsFailed", "ExecutionDuration", "RollbacksFailed"]),
        (Status.CANCELLED, "completed", ["ExecutionsCancelled", "ExecutionDuration", "RollbacksCompleted"]),
        (Status.TERMINATED, "none", ["ExecutionsTerminated", "ExecutionDuration"]),
    ],
)
def test_each_end_has_its_metric(
    observer: MetricsObserver, capsys: pytest.CaptureFixture[str], status: Status, rollback: str, names: list[str]
) -> None:
    observer.observe(ended(status, rollback))
    observer.flush()
    (line,) = written(capsys)
    assert [metric["Name"] for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]] == names


def test_what_an_operator_counts_has_its_metric_with_and_without_a_workflow(
    observer: MetricsObserver, capsys: pytest.CaptureFixture[str]
) -> None:
    for what in ("unknown_workflow", "drift", "dead_letter", "lease_lost", "newer_format", "swept"):
        observer.observe(Incident(IncidentKind(what), "order-1", "checkout"))
    observer.observe(Incident(IncidentKind.REJECTED))
    observer.flush()
    checkout, unnamed = written(capsys)
    names = ["UnknownWorkflow", "Drift", "DeadLetters", "LeasesLost", "NewerFormat", "Swept"]
    assert values(checkout) == {"workflow": "checkout", "service": "shop", **{name: [1.0] for name in names}}
    assert values(unnamed) == {"service": "shop", "Rejected": [1.0]}


def test_a_flush_counts_nothing_again(observer: MetricsObserver, capsys: pytest.CaptureFixture[str]) -> None:
    observer.observe(ExecutionStarted("order-1", "checkout"))
    observer.flush()
    observer.flush()
    assert len(written(capsys)) == 1
    observer.observe(ExecutionStarted("order-2", "checkout"))
    observer.flush()
    (line,) = written(capsys)
    assert values(line) == {"workflow": "checkout", "service": "shop", "ExecutionsStarted": [1.0]}


def test_a_thousand_steps_in_one_invocation_lose_nothing(
    observer: MetricsObserver, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(1_000):
        observer.observe(step("completed"))
    observer.flush()
    lines = written(capsys)
    assert sum(len(line.get("StepsCompleted", [])) for line in lines) == 1_000
    assert sum(len(line.get("StepDuration", [])) for line in lines) == 1_000
    assert {line["workflow"] for line in lines} == {"checkout"}
