"""Each function's paths are driven under its own role: what they call is allowed, and what is allowed is called.

The harness refuses a call that the role does not allow, wherever it is made. So each list below is meant to be everything
that its function can do; a path that is missing shows as a grant that nothing uses.
"""

from __future__ import annotations

import base64
import copy
import json
import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import boto3
import pytest

from durable import Action, Context, Retry, Step, TerminalError, Undo, workflow
from durable.protocol.continuation import continuation_of
from durable.testing import Harness

EVENTS = Path(__file__).parents[1] / "events"
EXPIRED = timedelta(days=31)
ITEM, OBJECT = 40_000, 600_000  # bytes: of a value that gets an item of its own; of one that goes to the bucket
MESSAGE = 200_000  # bytes: of what an HTTP request can bring

# What Lambda itself calls with the role, and no code of ours.
POLLING = {
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
}


def blob(size: int) -> str:
    """A text that hardly compresses."""
    return base64.b64encode(random.Random(size).randbytes(size)).decode()[:size]


def made(step: Step, size: int) -> str:
    return blob(size)


@workflow
def quick(ctx: Context, payload: str) -> str:
    return payload[:1]


@workflow
def large(ctx: Context) -> int:
    """Values in items and in the bucket, a history of several segments, items that are replaced."""
    ctx.step("item", made, ITEM)
    ctx.step("object", made, OBJECT)
    ctx.step("fill", made, 2_000)
    for _ in range(2):
        ctx.step("state", fill_state)
    ctx.sleep("pause", 60)
    return 1


def fill_state(step: Step) -> None:
    step.state = {"attempt": step.name, "blob": blob(ITEM)}


@workflow
def outward(ctx: Context) -> None:
    """What a step can do besides: its database, events, other executions."""
    ctx.step("db", lambda step: step.db.put("key", 1))
    ctx.step("gone", lambda step: step.db.delete("key"))
    ctx.step("event", lambda step: step.publish("happened", {"to": "me"}))
    ctx.step("start", start_quick)


def start_quick(step: Step) -> None:
    step.client.start(quick, blob(OBJECT), execution_id="quick-1")


@workflow
def patient(ctx: Context) -> str:
    """Waits for longer than a queue can delay a message, and is answered."""
    message = ctx.queue.next("answer", "answers", body=str, timeout=7200, completable=True)
    if message is None:
        return "nobody"
    message.complete(blob(ITEM))
    ctx.sleep("pause", 7200)
    return "done"


@patient.action(read_only=False)
def change(act: Action[Any], size: int) -> int:
    act.state = {"blob": blob(size)}
    return size


def failing(step: Step) -> None:
    raise TerminalError("no")


def undo(step: Undo[Any]) -> None:
    pass


@workflow
def stubborn(ctx: Context) -> None:
    """Fails, and its rollback does too; its history is sealed by then."""
    ctx.step("a", lambda step: None, rollback=never, rollback_retry=Retry(0))
    ctx.step("fill", made, 2_000)
    ctx.step("b", failing)


def never(step: Undo[Any]) -> None:
    raise TerminalError("not undone")


@workflow
def killed(ctx: Context) -> None:
    """Its rollback takes the process down, and its history is sealed."""
    ctx.step("a", lambda step: None, rollback=undo)
    ctx.step("fill", made, 2_000)
    ctx.step("b", failing)


@workflow
def asleep(ctx: Context) -> None:
    """Longer than a queue can delay."""
    ctx.sleep("pause", 7200)


@workflow
def napping(ctx: Context) -> None:
    """As long as a queue can delay, and a bus can't."""
    ctx.sleep("pause", 600)


FLOWS = [quick, large, outward, patient, stubborn, killed, asleep, napping]


# --- paths -----------------------------------------------------------------------------------------------------------


def batch(name: str, *bodies: str) -> dict[str, Any]:
    """A recorded event of these bodies."""
    (record,) = json.loads((EVENTS / f"{name}.json").read_text())["Records"]
    return {"Records": [copy.deepcopy(record) | {"messageId": f"m-{body[:40]}", "body": body} for body in bodies]}


def answered(durable: Harness, function: str, event: Any) -> Any:
    invocation = durable.invoke(function, event)
    assert not invocation.failed, invocation
    return invocation.answer


def ask(durable: Harness, method: str, path: str, body: Any = None, key: str = "", query: Any = None) -> int:
    """The status of the API's answer."""
    event = json.loads((EVENTS / "http.json").read_text())
    event["headers"].pop("idempotency-key", None)
    if key:
        event["headers"]["idempotency-key"] = key
    event |= {"rawPath": path, "body": None if body is None else json.dumps(body)}
    event["requestContext"]["http"] |= {"method": method, "path": path}
    if query:
        event["queryStringParameters"] = query
    return int(answered(durable, "Api", event)["statusCode"])


def expire(durable: Harness, execution_id: str) -> None:
    """An execution whose retention is over, and whose items and objects are all still there."""
    execution = durable.start(large, execution_id=execution_id)
    durable.run(duration=120)
    assert execution.status == "completed"
    durable.clock.advance(EXPIRED)


def in_cold_processes(durable: Harness, flow: Any) -> None:
    execution = durable.start(flow)
    durable.run(duration=0)
    durable.restart_processes()
    durable.run(duration=120)
    assert execution.status == "completed", execution.error


def worker(durable: Harness) -> None:
    in_cold_processes(durable, large)
    expire(durable, "quick-1")
    in_cold_processes(durable, outward)
    assert durable.get("quick-1").status == "completed"
    execution = durable.start(patient)
    durable.run(duration=60)
    execution.send("answers", "yes", message_id="one")  # before the schedule fires, which is then taken back
    durable.run(duration=60)
    assert execution.status == "waiting"
    durable.run(duration=timedelta(hours=3))
    assert execution.status == "completed"
    durable.start(stubborn)
    durable.run(duration=60)
    answered(durable, "Worker", batch("continuation", "garbage"))
    _early(durable)


def _early(durable: Harness) -> None:
    """A continuation that comes before its time is held."""
    execution = durable.start(asleep)
    durable.run(duration=1)
    head = durable.application.store.read(execution.id)
    queue = durable.stack.queues["ContinuationQueue"].url
    boto3.client("sqs").send_message(QueueUrl=queue, MessageBody=continuation_of(head).encode())
    durable.run(duration=1)
    execution.terminate()


def api(durable: Harness) -> None:
    start = "/workflows/quick/executions"
    assert ask(durable, "POST", start, "small", "one") == 202
    for _ in range(2):
        assert ask(durable, "POST", start, blob(MESSAGE), "two") == 202
    assert ask(durable, "POST", start, "other", "two") == 409
    expire(durable, "three")
    assert ask(durable, "POST", start, "small", "three") == 202
    durable.start(large, execution_id="large")
    durable.run(duration=120)
    assert ask(durable, "GET", "/executions/large") == 200
    durable.restart_processes()
    assert ask(durable, "GET", "/executions/large/history") == 200
    durable.start(patient, execution_id="patient")
    durable.run(duration=1)
    for size in (10, ITEM, ITEM + 1, OBJECT, 10):
        assert ask(durable, "POST", "/executions/patient/actions/change", {"size": size}) == 200
    answers = "/executions/patient/queues/answers"
    for _ in range(2):
        assert ask(durable, "POST", answers, blob(MESSAGE), "m1") == 202
    durable.run(duration=1)
    assert ask(durable, "POST", answers, "late", "m1", {"wait": "1"}) == 200
    durable.start(napping, execution_id="napping")
    durable.run(duration=1)
    for execution_id in ("patient", "napping"):
        for command in ("pause", "resume", "cancel"):  # what waits is sent again, by the queue or the scheduler
            assert ask(durable, "POST", f"/executions/{execution_id}/{command}") == 202
    durable.start(asleep, execution_id="asleep")
    durable.run(duration=1)
    assert ask(durable, "POST", "/executions/asleep/terminate") == 202


def start(durable: Harness) -> None:
    def ordered(execution_id: str, payload: str, flow: str = "quick") -> None:
        body = json.dumps({"workflow": flow, "input": payload, "execution_id": execution_id})
        assert answered(durable, "Start", batch("start", body)) == {"batchItemFailures": []}

    ordered("one", "small")
    ordered("sealed", blob(ITEM))
    ordered("two", blob(OBJECT))
    ordered("two", blob(OBJECT))
    ordered("two", "another")
    ordered("three", "x", "no such workflow")
    expire(durable, "four")
    ordered("four", blob(OBJECT))
    durable.run(duration=60)
    assert durable.get("four").status == "completed"


def terminal_failure(durable: Harness) -> None:
    execution = durable.start(stubborn)
    durable.run(duration=60)
    assert (execution.status, execution.rollback.outcome) == ("failed", "failed")


def dead_letters(durable: Harness) -> None:
    def letter(execution_id: str) -> None:
        head = durable.application.store.read(execution_id)
        answered(durable, "DeadLetters", batch("dead_letter", continuation_of(head).encode()))

    answered(durable, "DeadLetters", batch("dead_letter", "garbage"))
    durable.start(quick, "a", execution_id="late")
    letter("late")  # another chance
    sleeper = durable.start(asleep)
    durable.run(duration=1)
    letter(sleeper.id)  # its schedule is made again
    _held(durable)
    _ended(durable, letter)


def _held(durable: Harness) -> None:
    """A dead letter of an execution that somebody holds."""
    execution = durable.start(large)
    durable.faults.in_body(1, durable.faults.die)
    durable.run(duration=0)
    head = durable.application.store.read(execution.id)
    assert head.held(durable.clock.now())
    queue = durable.stack.queues["DeadLetterQueue"].url
    boto3.client("sqs").send_message(QueueUrl=queue, MessageBody=continuation_of(head).encode())
    durable.run(duration=1)
    durable.faults.clear()
    execution.terminate()


def _ended(durable: Harness, letter: Callable[[str], None]) -> None:
    """A rollback that takes its process down each time, until its dead letters end it."""
    execution = durable.start(killed)
    durable.faults.in_body(2, durable.faults.die, path="a", times=1_000)  # the first is the step's own
    durable.run(duration=0)
    assert (execution.status, bool(durable.application.store.read(execution.id).segment)) == ("failing", True)
    for _ in range(4):
        durable.clock.advance(900)  # past the lease
        letter(execution.id)
    durable.faults.clear()
    assert (execution.status, execution.rollback.outcome) == ("failed", "failed")


def sweeper(durable: Harness) -> None:
    durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by="client")
    execution = durable.start(quick, "lost")
    durable.run()
    assert execution.status == "completed"
    expire(durable, "expired")
    assert durable.sweep().failed is False
    assert durable.application.store.read("expired") is None


PATHS: dict[str, Callable[[Harness], None]] = {
    "Worker": worker,
    "Api": api,
    "Start": start,
    "TerminalFailure": terminal_failure,
    "DeadLetters": dead_letters,
    "Sweeper": sweeper,
}


@pytest.mark.parametrize("transport", ["sqs", "eventbridge"])
@pytest.mark.parametrize("function", PATHS)
def test_a_role_allows_what_its_function_calls_and_nothing_more(
    function: str, transport: Literal["sqs", "eventbridge"]
) -> None:
    with Harness(workflows=FLOWS, transport=transport, store="moto") as durable:
        PATHS[function](durable)

        granted = durable.permissions.granted(function)
        assert granted is not None
        used = durable.permissions.used[function]
        unused = {grant for grant in set(granted) - used if grant[0] not in POLLING}
        assert unused == set()
