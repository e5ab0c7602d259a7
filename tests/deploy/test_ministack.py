"""A real `sam deploy`, onto MiniStack: its event sources invoke the deployed functions, and nobody else does.

What MiniStack does not do as AWS does is in docs/deploy-local.md. What keeps it from deploying is mended before, in a copy.
"""

from __future__ import annotations

import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

import durable
from durable import Client, ErrorInfo, Execution
from durable.testing.environment import installed
from infra.local.artefact import Artefact
from infra.local.deployment import ROLES_BIND, Deployed, deploy
from infra.local.ministack import REGION, MiniStack
from infra.local.ports import free_port
from tests.deploy.conftest import WORKFLOWS, done, eventually, finished

pytestmark = pytest.mark.deploy

FATES = {"exits-1": "exits", "holds-on-1": "holds on"}
CRASHED = "every attempt took its process with it: it ran out of memory or time, or exited"
SCHEDULED_TIME = "<aws.scheduler.scheduled-time>"
TABLE = f"arn:aws:dynamodb:{REGION}:000000000000:table/"
PARAMETERS = {
    "StepTableArns": f"{TABLE}seats,{TABLE}rooms",
    "WorkerTimeout": "30",  # the shortest on offer
    "StartEventPattern": '{"source": ["shop"]}',
    "StartEventWorkflow": "order",
    "StartSchedule": "rate(1 minute)",
    "StartScheduleWorkflow": "order",
    "StartScheduleInput": '{"amount": 1}',
}


@pytest.fixture(scope="module")
def traces(folder: Path) -> Path:
    made = folder / "traces"
    made.mkdir()
    return made


@pytest.fixture(scope="module")
def ministack(folder: Path, traces: Path) -> Iterator[MiniStack]:
    with (
        MiniStack.start(free_port(), folder / "ministack", {"TRACES": str(traces), **ROLES_BIND}) as running,
        installed(dict(running.variables)),
    ):
        yield running


@pytest.fixture(scope="module")
def deployed(ministack: MiniStack, built: Artefact, folder: Path) -> Deployed:
    """The stack, in which the sagas that take long have begun."""
    made = deploy(built.copy(folder / "build", [WORKFLOWS]), ministack, PARAMETERS)
    for execution_id, fate in FATES.items():
        ask(made, {"workflow": "order", "input": {"amount": 5, "fate": fate}, "execution_id": execution_id})
    return made


def ask(deployed: Deployed, start: object) -> str:
    """Ask for a start through the queue; the message's id."""
    sent = boto3.client("sqs").send_message(QueueUrl=deployed.outputs["StartQueueUrl"], MessageBody=json.dumps(start))
    return sent["MessageId"]


def client(deployed: Deployed) -> Client:
    return durable.connect(table=deployed.outputs["TableName"], queue=deployed.outputs["ContinuationQueueUrl"])


def ended(deployed: Deployed, execution_id: str) -> Execution[Any, Any]:
    return eventually(lambda: finished(client(deployed), execution_id), f"{execution_id} ends")


# --- starts ----------------------------------------------------------------------------------------------------------


def test_a_saga_that_was_started_through_the_queue_completes(deployed: Deployed, traces: Path) -> None:
    execution = ended(deployed, ask(deployed, {"workflow": "order", "input": {"amount": 4}}))

    assert (execution.status, execution.output) == ("completed", 8)
    assert done(traces, execution.id) == ["book 1", "ship 1"]


def test_a_saga_that_was_started_through_the_queue_rolls_back(deployed: Deployed, traces: Path) -> None:
    execution = ended(deployed, ask(deployed, {"workflow": "order", "input": {"amount": 3, "fate": "refused"}}))

    assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
    assert execution.error == ErrorInfo(
        "TerminalError", "nobody ships that", {"step": "ship", "kind": "critical", "attempts": 1}
    )
    assert done(traces, execution.id) == [
        "book 1",
        "ship 1",
        "ship undone: failed None",
        "book undone: completed 3",
    ]


@pytest.mark.parametrize(
    ("fate", "status", "rollback"), [("none", "completed", "none"), ("refused", "failed", "completed")]
)
def test_an_event_starts_a_saga(deployed: Deployed, fate: str, status: str, rollback: str) -> None:
    entry: Any = {"Source": "shop", "DetailType": "bought", "Detail": json.dumps({"amount": 6, "fate": fate})}
    answer = boto3.client("events").put_events(Entries=[entry])

    execution = ended(deployed, answer["Entries"][0]["EventId"])

    assert (execution.status, execution.rollback.outcome) == (status, rollback)


def test_a_schedule_asks_for_a_saga_each_minute(deployed: Deployed) -> None:
    """MiniStack lacks the scheduler's context attributes: the id lacks its time, and the start is rejected for it."""

    def rejected() -> dict[str, Any] | None:
        (*_, message) = (
            boto3.client("sqs")
            .receive_message(QueueUrl=deployed.outputs["RejectedQueueUrl"], WaitTimeSeconds=1)
            .get("Messages", [None])
        )
        return json.loads(message["Body"]) if message else None

    start = eventually(rejected, "the schedule fires")
    assert start == {"workflow": "order", "execution_id": f"order-{SCHEDULED_TIME}", "input": {"amount": 1}}

    filled = json.dumps(start).replace(SCHEDULED_TIME, "2030-01-01T06:00:00Z")
    ask(deployed, json.loads(filled))  # what AWS sends
    execution = ended(deployed, "order-2030-01-01T06:00:00Z")

    assert (execution.status, execution.output) == ("completed", 2)


def test_a_request_starts_a_saga_if_it_is_signed(deployed: Deployed) -> None:
    unsigned = request(deployed, "POST", "/workflows/order/executions", {"amount": 7}, signed=False)
    assert unsigned == (403, {"message": "Forbidden"})

    status, started = request(deployed, "POST", "/workflows/order/executions", {"amount": 7})
    assert (status, started["id"], started["workflow"]) == (202, "http-1", "order")

    execution = ended(deployed, "http-1")

    assert (execution.status, execution.output) == ("completed", 14)
    status, shown = request(deployed, "GET", "/executions/http-1")
    assert (status, shown["status"], shown["output"]) == (200, "completed", 14)


# --- what the roles allow --------------------------------------------------------------------------------------------


def test_functions_may_do_at_every_service_what_workflows_ask_of_them(deployed: Deployed) -> None:
    make_table("seats")
    text = "x" * 500_000
    ask(deployed, {"workflow": "errands", "input": text, "execution_id": "errands-1"})

    (schedule,) = eventually(schedules, "the execution sleeps")
    assert ended(deployed, "errands-1-other").status == "completed"
    assert request(deployed, "POST", "/executions/errands-1/cancel")[0] == 202
    execution = ended(deployed, "errands-1")

    assert schedule["GroupName"] == deployed.stack
    assert (execution.status, execution.rollback.outcome) == ("cancelled", "completed")
    assert boto3.client("dynamodb").scan(TableName="seats")["Items"] == []


def test_an_execution_waits_for_a_permission_and_goes_on_when_it_is_there(deployed: Deployed, traces: Path) -> None:
    make_table("others")
    ask(deployed, {"workflow": "reserve", "input": "others", "execution_id": "reserve-1"})
    eventually(lambda: done(traces, "reserve-1")[1:], "it was refused, and tries again")
    assert finished(client(deployed), "reserve-1") is None

    permit(deployed, "others")
    execution = ended(deployed, "reserve-1")

    assert (execution.status, execution.output) == ("completed", "reserve-1")
    assert boto3.client("dynamodb").scan(TableName="others")["Items"] == [{"id": {"S": "reserve-1"}}]


# --- deaths, hops ---------------------------------------------------------------------------------------------------


def test_a_saga_survives_a_function_that_is_killed(deployed: Deployed, traces: Path) -> None:
    ask(deployed, {"workflow": "order", "input": {"amount": 5, "fate": "killed"}, "execution_id": "killed-1"})
    victim = traces / "killed-1.pid"
    os.kill(int(eventually(lambda: victim.read_text() if victim.exists() else None, "the step waits")), signal.SIGKILL)

    execution = ended(deployed, "killed-1")

    assert (execution.status, execution.output) == ("completed", 10)
    assert done(traces, "killed-1") == ["book 1", "ship 1", "ship 1"]


@pytest.mark.rule("S4")
@pytest.mark.parametrize("execution_id", FATES)
def test_a_poisoned_saga_ends_and_rolls_back(deployed: Deployed, traces: Path, execution_id: str) -> None:
    execution = ended(deployed, execution_id)

    assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
    assert execution.error == ErrorInfo("ProcessCrashed", CRASHED, {"step": "ship", "kind": "exhausted", "attempts": 1})
    assert done(traces, execution_id) == [
        "book 1",
        "ship 1",
        "ship 1",  # one crash is in doubt, and not charged
        "ship undone: failed None",
        "book undone: completed 5",
    ]


def test_an_execution_comes_back_as_often_as_it_has_steps(deployed: Deployed) -> None:
    """MiniStack lacks the stop of loops over a queue: tests/test_template.py holds the setting that prevents it."""
    execution = ended(deployed, ask(deployed, {"workflow": "march", "input": 24}))

    assert (execution.status, execution.output) == ("completed", 24)


# --- the other transport ---------------------------------------------------------------------------------------------


def test_sagas_complete_and_roll_back_over_eventbridge(
    ministack: MiniStack, deployed: Deployed, built: Artefact, folder: Path
) -> None:
    artefact = built.copy(folder / "bussed", [WORKFLOWS])
    other = deploy(artefact, ministack, {"WorkerTimeout": "30", "Transport": "eventbridge"}, "bussed")
    completes = ask(other, {"workflow": "order", "input": {"amount": 4}})
    fails = ask(other, {"workflow": "order", "input": {"amount": 3, "fate": "refused"}})

    completed, failed = ended(other, completes), ended(other, fails)

    assert (completed.status, completed.output) == ("completed", 8)
    assert (failed.status, failed.rollback.outcome) == ("failed", "completed")


def make_table(name: str) -> None:
    """A table that is not the stack's."""
    boto3.client("dynamodb").create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


def permit(deployed: Deployed, table: str) -> None:
    """Let the worker write to it."""
    (worker,) = [
        function["Role"].rpartition("/")[2]
        for function in boto3.client("lambda").list_functions()["Functions"]
        if function["FunctionName"].startswith(f"{deployed.stack}-Worker")
    ]
    statement = {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": f"{TABLE}{table}"}
    boto3.client("iam").put_role_policy(
        RoleName=worker,
        PolicyName="Others",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
    )


def schedules() -> list[Any] | None:
    """Those that executions have made."""
    made = boto3.client("scheduler").list_schedules()["Schedules"]
    return [schedule for schedule in made if "ScheduledStart" not in schedule["Name"]] or None


def request(
    deployed: Deployed, method: str, path: str, body: object = None, *, signed: bool = True
) -> tuple[int, dict[str, Any]]:
    """A request to the HTTP API. Its host is a name that only AWS resolves: it is sent to MiniStack, under that name."""
    host = deployed.outputs["HttpEndpoint"].removeprefix("http://")
    data = json.dumps(body).encode() if body is not None else None
    made = AWSRequest(method, f"http://{host}{path}", {"Host": host, "Idempotency-Key": "http-1"}, data)
    if signed:
        SigV4Auth(Credentials("test", "test"), "execute-api", REGION).add_auth(made)
    sent = urllib.request.Request(deployed.onto.url + path, data, dict(made.headers.items()), method=method)
    try:
        with urllib.request.urlopen(sent) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)
