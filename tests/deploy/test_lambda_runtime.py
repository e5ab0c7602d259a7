"""The built artefact under Lambda's own runtime, against a moto server: real processes, real deaths, real time.

All executions are started at once, each test waits for its own: what takes long is waited for only once.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

import durable
from durable import ErrorInfo, Execution
from infra.local.artefact import Artefact
from tests.deploy.conftest import done, eventually, finished, recorded
from tests.deploy.emulated_lambda import Emulated, deployed, emulated_aws

pytestmark = pytest.mark.deploy

FATES = {
    "exits-1": "exits",
    "oom-killed-1": "killed for its memory",
    "out-of-memory-1": "out of memory",
    "holds-on-1": "holds on",
    "sleeps-on-1": "sleeps on",
}
CRASHED = "every attempt took its process with it: it ran out of memory or time, or exited"
BOUGHT = {"StartEventPattern": '{"source": ["shop"]}', "StartEventWorkflow": "order"}


@pytest.fixture(scope="module")
def aws(folder: Path) -> Iterator[None]:
    with emulated_aws(folder):
        yield


@pytest.fixture(scope="module")
def burning(aws: None, artefact: Artefact, folder: Path) -> Iterator[Emulated]:
    """A stack in which one death is enough to make a dead letter."""
    with deployed(artefact, folder, "burning", receives=1) as deployment:
        _ask(deployment, {"workflow": "stillborn", "input": None, "execution_id": "stillborn-1"})
        yield deployment


@pytest.fixture(scope="module")
def deployment(burning: Emulated, artefact: Artefact, folder: Path) -> Iterator[Emulated]:
    with deployed(artefact, folder, "durable", parameters=BOUGHT) as deployment:
        for execution_id, fate in FATES.items():
            wanted = {"workflow": "order", "input": {"amount": 5, "fate": fate}, "execution_id": execution_id}
            _ask(deployment, wanted)
        yield deployment


def _ask(deployment: Emulated, start: object) -> None:
    boto3.client("sqs").send_message(QueueUrl=deployment.stack.queues["StartQueue"].url, MessageBody=json.dumps(start))


def ended(deployment: Emulated, execution_id: str) -> Execution[Any, Any]:
    """The execution, when it has ended."""
    stack = deployment.stack
    client = durable.connect(table=stack.tables["Table"].name, queue=stack.queues["ContinuationQueue"].url)
    return eventually(lambda: finished(client, execution_id), f"{execution_id} ends")


# --- recorded events -------------------------------------------------------------------------------------------------


def test_a_request_of_the_http_api_starts_a_saga_that_completes(deployment: Emulated) -> None:
    answer = _request(deployment, "POST", "/workflows/order/executions", {"amount": 4}, key="http-1")
    started = json.loads(answer["body"])
    assert (answer["statusCode"], started["id"], started["workflow"]) == (202, "http-1", "order")

    execution = ended(deployment, "http-1")

    assert (execution.status, execution.output) == ("completed", 8)
    assert done(deployment.traces, "http-1") == ["book 1", "ship 1"]
    shown = json.loads(_request(deployment, "GET", "/executions/http-1")["body"])
    assert (shown["status"], shown["output"], shown["rollback"]["outcome"]) == ("completed", 8, "none")
    history = json.loads(_request(deployment, "GET", "/executions/http-1/history")["body"])["history"]
    assert [entry["path"] for entry in history if entry["kind"] == "step"] == ["book", "ship"]


def test_a_message_of_the_start_queue_starts_a_saga_that_rolls_back(deployment: Emulated) -> None:
    event = recorded("start")
    event["Records"][0]["body"] = json.dumps({"workflow": "order", "input": {"amount": 3, "fate": "refused"}})
    assert deployment.post("Start", event) == {"batchItemFailures": []}

    execution = ended(deployment, event["Records"][0]["messageId"])

    assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
    assert execution.error is not None
    assert (execution.error.type, execution.error.message) == ("TerminalError", "nobody ships that")
    assert done(deployment.traces, execution.id) == [
        "book 1",
        "ship 1",
        "ship undone: failed None",
        "book undone: completed 3",
    ]


def test_an_event_of_eventbridge_starts_a_saga(deployment: Emulated) -> None:
    detail = {"workflow": "order", "input": {"amount": 2}}
    event = {**recorded("continuation_event"), "source": "shop", "detail-type": "order", "detail": detail}
    assert deployment.post("Start", event) is None

    execution = ended(deployment, event["id"])

    assert (execution.status, execution.output) == ("completed", 4)


def test_an_event_that_matches_the_rule_starts_a_saga(deployment: Emulated) -> None:
    entry: Any = {"Source": "shop", "DetailType": "bought", "Detail": json.dumps({"amount": 6})}
    answer = boto3.client("events").put_events(Entries=[entry])
    assert answer["FailedEntryCount"] == 0

    execution = ended(deployment, answer["Entries"][0]["EventId"])

    assert (execution.status, execution.output) == ("completed", 12)


def test_a_continuation_that_comes_again_and_a_record_of_the_stream_that_does_change_nothing(
    deployment: Emulated,
) -> None:
    ended(deployment, "http-1")
    message = recorded("continuation")
    message["Records"][0]["body"] = json.dumps(
        {"format": 1, "execution": "http-1", "revision": 0, "workflow": "order", "version": 1, "phase": "forward"}
    )
    assert deployment.post("Worker", message) == {"batchItemFailures": []}
    change = recorded("stream")
    assert deployment.post("TerminalFailure", change) == {"batchItemFailures": []}
    assert done(deployment.traces, "http-1") == ["book 1", "ship 1"]


# --- deaths ----------------------------------------------------------------------------------------------------------


def test_a_saga_survives_a_worker_that_is_killed_inside_a_step(deployment: Emulated) -> None:
    _ask(deployment, {"workflow": "order", "input": {"amount": 5, "fate": "killed"}, "execution_id": "killed-1"})
    victim = deployment.traces / "killed-1.pid"
    os.kill(int(eventually(lambda: victim.read_text() if victim.exists() else None, "the step waits")), signal.SIGKILL)

    execution = ended(deployment, "killed-1")

    assert (execution.status, execution.output) == ("completed", 10)
    assert done(deployment.traces, "killed-1") == [
        "book 1",
        "ship 1",
        "ship 1",
    ]  # one crash is in doubt, and not charged


@pytest.mark.rule("S4")
@pytest.mark.parametrize("execution_id", ["exits-1", "oom-killed-1", "holds-on-1"])
def test_a_step_that_ends_its_process_again_and_again_is_exhausted_and_rolled_back(
    deployment: Emulated, execution_id: str
) -> None:
    """Nothing but the function's timeout ends the one that holds on: a crash like the others."""
    execution = ended(deployment, execution_id)

    assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
    assert execution.error == ErrorInfo("ProcessCrashed", CRASHED, {"step": "ship", "kind": "exhausted", "attempts": 1})
    assert done(deployment.traces, execution_id) == [
        "book 1",
        "ship 1",
        "ship 1",  # one crash is in doubt, and not charged
        "ship undone: failed None",
        "book undone: completed 5",
    ]


@pytest.mark.rule("S4")
def test_a_step_that_uses_all_memory_fails_and_is_rolled_back(deployment: Emulated) -> None:
    execution = ended(deployment, "out-of-memory-1")

    assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
    assert execution.error is not None
    assert execution.error.details["kind"] == "exhausted"
    assert done(deployment.traces, "out-of-memory-1")[-2:] == ["ship undone: failed None", "book undone: completed 5"]


@pytest.mark.rule("S4")
def test_a_step_that_outlives_its_invocation_has_timed_out_and_is_rolled_back(deployment: Emulated) -> None:
    execution = ended(deployment, "sleeps-on-1")

    assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
    assert execution.error is not None
    assert (execution.error.type, execution.error.details["kind"]) == ("AttemptTimeout", "timeout")
    assert done(deployment.traces, "sleeps-on-1") == [
        "book 1",
        "ship 1",
        "ship undone: failed None",
        "book undone: completed 5",
    ]


def test_a_process_that_dies_before_any_body_starts_ends_in_the_dead_letters(burning: Emulated) -> None:
    execution = ended(burning, "stillborn-1")

    assert execution.status == "failed"
    assert execution.error is not None
    assert execution.error.type == "DeadLettered"
    assert (
        execution.rollback.outcome == "failed"
    )  # nobody can say what to undo: that is the code's to tell, and it dies
    assert done(burning.traces, "stillborn-1") == ["started"] * 4  # two dead letters forward, two of its rollback


def _request(deployment: Emulated, method: str, path: str, body: object = None, key: str = "") -> Any:
    """The recorded request, for something else."""
    event = recorded("http")
    event["rawPath"] = event["requestContext"]["http"]["path"] = path
    event["requestContext"]["http"]["method"] = method
    event["headers"]["idempotency-key"] = key
    event["body"] = json.dumps(body) if body is not None else None
    return deployment.post("Api", event)
