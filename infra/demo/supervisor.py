"""Hands the transfers in, keeps workers running where one dies, and sees all transfers to their end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from signal import SIGALRM, SIGKILL
from typing import TYPE_CHECKING, Any

import boto3

from durable.aws.system import STATUS as GAVE_UP
from infra.demo.deployment import Deployment
from infra.demo.kills import Kind, Moment, Point
from infra.demo.processes import Processes, ProcessFailed, Report
from infra.demo.progress import Show, Tally
from infra.demo.scenario import Transfer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

OPEN_AT_ONCE = 24  # transfers; a queue of moto gets slow when it is long
LOOK = 0.8  # seconds between two looks at how far they are
PATIENCE = 60.0  # seconds without any transfer's end after which there will be none
CLOSED = frozenset({"completed", "failed", "cancelled", "terminated", "diverged"})


@dataclass(frozen=True, slots=True)
class Death:
    """A worker that was killed, where and when."""

    worker: str
    point: Point
    at: float  # seconds since the epoch


class Workers:
    """Keeps the workers running, and notes what becomes of them."""

    def __init__(self, processes: Processes, names: Sequence[str], arguments: Sequence[str]) -> None:
        self.deaths: list[Death] = []
        self.accidents: list[str] = []  # ends that nobody planned
        self.redeliveries = 0
        self.timeouts = 0
        self._processes = processes
        self._names = names
        self._arguments = arguments
        for name in names:
            self._start(name)

    def _start(self, name: str) -> None:
        self._processes.start(name, "infra.demo.worker", *self._arguments)

    def watch(self, wait: float) -> None:
        """Take note of what the processes tell, for this long."""
        until = time.monotonic() + wait
        while (left := until - time.monotonic()) > 0:
            for report in self._processes.reports(left):
                self._note(report)

    def _note(self, report: Report) -> None:
        match report.kind:
            case "kill":
                self.deaths.append(Death(report.process, _point(report.value), report.value["at"]))
            case "redelivery":
                self.redeliveries += 1
            case "ended":
                self._ended(report.process, report.value)

    def _ended(self, process: str, status: int) -> None:
        """Start it again; a process ends well when it is killed, and when it gives up or is stopped for want of time."""
        words = f"{process} ended with status {status}:\n{self._processes.last_words(process)}"
        if process not in self._names:
            raise ProcessFailed(words)
        if status in (-SIGALRM, GAVE_UP):
            self.timeouts += 1
        elif status != -SIGKILL:
            self.accidents.append(words)
        self._start(process)


class Transfers:
    """The executions of the transfers: starts them through the start queue, and looks at their status."""

    def __init__(self, deployment: Deployment, transfers: Sequence[Transfer]) -> None:
        self.statuses: dict[str, str] = {}
        self._sqs: SQSClient = boto3.client("sqs")
        self._dynamodb: DynamoDBClient = boto3.client("dynamodb")
        self._queue = deployment.queues["StartQueue"].url
        self._table = deployment.table
        self._waiting: Iterator[Transfer] = iter(transfers)

    @property
    def open(self) -> list[str]:
        return [transfer for transfer, status in self.statuses.items() if status not in CLOSED]

    def start_more(self) -> None:
        """Start as many as may be open at once."""
        for transfer in islice(self._waiting, max(0, OPEN_AT_ONCE - len(self.open))):
            message = {"workflow": "transfer", "execution_id": transfer.id, "input": transfer.input}
            self._sqs.send_message(QueueUrl=self._queue, MessageBody=json.dumps(message))
            self.statuses[transfer.id] = "sent"

    def look(self) -> None:
        """See what has become of those that are open."""
        if not self.open:
            return
        keys: Any = [{"pk": {"S": transfer}, "sk": {"S": "head"}} for transfer in self.open]
        wanted: Mapping[str, Any] = {
            self._table: {
                "Keys": keys,
                "ProjectionExpression": "pk, #status",
                "ExpressionAttributeNames": {"#status": "status"},
            }
        }
        for item in self._dynamodb.batch_get_item(RequestItems=wanted)["Responses"][self._table]:
            self.statuses[item["pk"]["S"]] = item["status"]["S"]

    def count(self, status: str) -> int:
        return sum(each == status for each in self.statuses.values())


def see_through(workers: Workers, transfers: Transfers, total: int, show: Show) -> None:
    """Until every transfer has ended, or none has for too long."""
    ended, changed = -1, time.monotonic()
    while ended < total and time.monotonic() - changed < PATIENCE:
        transfers.start_more()
        workers.watch(LOOK)
        transfers.look()
        now_ended = len(transfers.statuses) - len(transfers.open)
        if now_ended != ended:
            ended, changed = now_ended, time.monotonic()
        show(
            Tally(
                total=total,
                completed=transfers.count("completed"),
                rolled_back=transfers.count("failed"),
                open=len(transfers.open),
                kills=len(workers.deaths),
                redeliveries=workers.redeliveries,
            )
        )


def _point(value: Mapping[str, Any]) -> Point:
    return Point(Kind(value["kind"]), value["transfer"], value["call"], Moment(value["moment"]))
