from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.demo.kills import Kind, Moment, Point, continuation
from infra.demo.ledger import Ledger
from tests.demo.conftest import OPEN

Serve = Callable[..., None]

WORKER = """
import sys
from decimal import Decimal
from pathlib import Path

from infra.demo.kills import Kind, Moment, Point
from infra.demo.killswitch import KillSwitch
from infra.demo.processes import Reports

kind, transfer, call, moment = sys.argv[2:6]
switch = KillSwitch([Point(Kind(kind), transfer, call, Moment(moment))], Path(sys.argv[1]), Reports(1))
switch.install()
switch.delivered("T1")
"""
ASKS = """
from handler.workflows import bank
booking = bank.debit("XQ01NORD", Decimal("12.50"), "T1", key="key")
bank.credit("XQ01NORD", Decimal("12.50"), "T1", key="undo", reverses=booking)
"""
SENDS = """
import boto3
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError
keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "region_name": "us-east-1"}
config = Config(retries={"total_max_attempts": 1})
sqs = boto3.client("sqs", endpoint_url="http://127.0.0.1:9", config=config, **keys)
for revision in REVISIONS:
    try:
        sqs.send_message(QueueUrl="http://127.0.0.1:9/q", MessageBody=f'{{"execution": "T1", "revision": {revision}}}')
    except EndpointConnectionError:
        print("sent", flush=True)
"""


@pytest.fixture
def worker(tmp_path: Path) -> Callable[[Point, str], tuple[int, list[str]]]:
    """Runs a worker that is to die at the point; its status and what it wrote."""

    def run(point: Point, code: str) -> tuple[int, list[str]]:
        planned = [point.kind, point.transfer, point.call, point.moment]
        arguments = [sys.executable, "-c", WORKER + code, str(tmp_path), *planned]
        ended = subprocess.run(arguments, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout.splitlines()

    return run


Run = Callable[[Point, str], tuple[int, list[str]]]


@pytest.mark.parametrize(
    ("kind", "call", "moment", "booked"),
    [
        (Kind.BODY, "debit", Moment.BEFORE, []),
        (Kind.BODY, "debit", Moment.AFTER, ["debit"]),
        (Kind.ROLLBACK, "credit-back", Moment.BEFORE, ["debit"]),
        (Kind.ROLLBACK, "credit-back", Moment.AFTER, ["debit", "credit"]),
    ],
)
def test_a_worker_dies_at_its_point_once(
    bank_at: Serve, ledger: Ledger, worker: Run, kind: Kind, call: str, moment: Moment, booked: list[str]
) -> None:
    bank_at(OPEN)
    point = Point(kind, "T1", call, moment)
    status, written = worker(point, ASKS)
    assert status == -signal.SIGKILL
    assert [booking.kind for booking in ledger.books().bookings] == booked
    told, value = json.loads(written[-1])
    assert (told, value["transfer"], value["call"]) == ("kill", "T1", call)
    assert worker(point, ASKS) == (0, [])


def test_a_worker_does_not_die_for_another_transfer(bank_at: Serve, worker: Run) -> None:
    bank_at(OPEN)
    assert worker(Point(Kind.BODY, "T2", "debit", Moment.BEFORE), ASKS) == (0, [])


@pytest.mark.parametrize("sent", [(1, 2), (0, 3)])
def test_a_worker_dies_before_the_send_of_a_continuation_that_is_late_enough(
    worker: Run, sent: tuple[int, int]
) -> None:
    code = SENDS.replace("REVISIONS", str(sent))
    status, written = worker(Point(Kind.SEND, "T1", continuation(2), Moment.BEFORE), code)
    assert status == -signal.SIGKILL
    assert written[0] == "sent"
    assert json.loads(written[1])[0] == "kill"
