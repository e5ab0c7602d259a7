"""Metrics in CloudWatch's embedded format: lines of the log, so that they cost no call.

The runtime reports each event once, after it was recorded, so that a replay counts nothing again.
"""

from __future__ import annotations

from typing import assert_never

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from durable.protocol.head import Status
from durable.runtime.events import (
    BodyStarted,
    Event,
    ExecutionEnded,
    ExecutionStarted,
    Incident,
    IncidentKind,
    StepEnded,
)

_STEPS = {"completed": "StepsCompleted", "failed": "StepsFailed", "retrying": "StepRetries"}
_EXECUTIONS = {
    Status.COMPLETED: "ExecutionsCompleted",
    Status.FAILED: "ExecutionsFailed",
    Status.CANCELLED: "ExecutionsCancelled",
    Status.TERMINATED: "ExecutionsTerminated",
}
_ROLLBACKS = {"completed": "RollbacksCompleted", "failed": "RollbacksFailed"}
_INCIDENTS = {
    IncidentKind.UNKNOWN_WORKFLOW: "UnknownWorkflow",
    IncidentKind.DRIFT: "Drift",
    IncidentKind.DEAD_LETTER: "DeadLetters",
    IncidentKind.REJECTED: "Rejected",
    IncidentKind.LEASE_LOST: "LeasesLost",
    IncidentKind.NEWER_FORMAT: "NewerFormat",
    IncidentKind.SWEPT: "Swept",
}


class MetricsObserver:
    """Implements `durable.runtime.ports.Observer`. Each workflow is a dimension; `flush` writes what was counted."""

    def __init__(self, namespace: str, service: str) -> None:
        self._namespace = namespace
        self._service = service
        self._counted: dict[str, AmazonCloudWatchEMFProvider] = {}

    def flush(self) -> None:
        """Write what was counted since the last flush, a line for each workflow, if there is anything."""
        counted, self._counted = self._counted, {}
        for metrics in counted.values():
            if metrics.metric_set:  # empty when its hundred values were written on the way
                metrics.flush_metrics()

    def observe(self, event: Event) -> None:
        """Count an event."""
        match event:
            case ExecutionStarted(workflow=workflow):
                self._count(workflow, "ExecutionsStarted")
            case StepEnded(rollback=False):  # rollbacks are counted as a whole, when the execution ends
                self._count(event.workflow, _STEPS[event.outcome])
                self._time(event.workflow, "StepDuration", event.seconds)
            case ExecutionEnded():
                self._count(event.workflow, _EXECUTIONS[event.status])
                self._time(event.workflow, "ExecutionDuration", event.seconds)
                if event.rollback in _ROLLBACKS:
                    self._count(event.workflow, _ROLLBACKS[event.rollback])
            case Incident(kind=kind, workflow=workflow):
                self._count(workflow, _INCIDENTS[kind])
            case BodyStarted() | StepEnded():
                pass
            case _:
                assert_never(event)

    def _count(self, workflow: str, name: str) -> None:
        self._of(workflow).add_metric(name, MetricUnit.Count, 1)

    def _time(self, workflow: str, name: str, seconds: float) -> None:
        self._of(workflow).add_metric(name, MetricUnit.Milliseconds, round(seconds * 1000))

    def _of(self, workflow: str) -> AmazonCloudWatchEMFProvider:
        if workflow not in self._counted:
            dimensions = {"workflow": workflow} if workflow else {}  # a rejected message may name none
            self._counted[workflow] = AmazonCloudWatchEMFProvider(
                dimension_set=dimensions, namespace=self._namespace, service=self._service
            )
        return self._counted[workflow]
