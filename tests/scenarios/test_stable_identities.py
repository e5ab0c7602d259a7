"""What a step starts, sends and publishes comes again when the attempt does, and carries the same identity."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from durable import Context, Execution, Queue, Retry, Step, TerminalError, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("S11")

numbers = Queue("numbers", int)


@workflow
def other(ctx: Context, name: str) -> list[int]:
    return [message.body for message in ctx.queue.next_batch(name, numbers, count=9, timeout=60)]


@workflow
def listener(ctx: Context) -> list[int]:
    ctx.sleep("let them come", 600)
    return [message.body for message in ctx.queue.next_batch("wait", numbers, count=9, timeout=60)]


def reach_out(step: Step, listening: str) -> list[str]:
    first = step.client.start(other, "first")
    second = step.client.start(other, "second")
    named = step.client.start(other, "named", execution_id="named")
    step.client.get(listener, listening).send(numbers, 1)
    step.client.get(listening).send("numbers", 2)
    step.queue.send(numbers, 3)
    step.publish("Reached", {"n": 4})
    if step.attempt < 3:
        raise OSError("no line")
    return [first.id, second.id, named.id]


@workflow
def reaching(ctx: Context, listening: str) -> list[Any]:
    ids = ctx.step("reach out", reach_out, listening, retry=Retry(5))
    own = ctx.queue.next_batch("own", numbers, count=9)
    return [ids, [message.body for message in own]]


@pytest.fixture
def durable() -> Iterator[Harness]:
    with Harness(workflows=[other, listener, reaching]) as harness:
        yield harness


def events(durable: Harness) -> list[dict[str, Any]]:
    """The events for subscribers that the bus has taken."""
    taken = [call for call in durable.calls if call.operation == "PutEvents" and call.error is None]
    entries = [entry for call in taken for entry in call.parameters["Entries"] if entry["Source"] != "durable"]
    return [{**entry, "Detail": json.loads(entry["Detail"])} for entry in entries]


def outcome(durable: Harness, execution: Execution[Any, Any], listening: Execution[Any, Any]) -> None:
    ids, own = execution.output
    started = {call.item["pk"] for call in durable.calls if call.operation == "PutItem" and call.item}
    assert started - {execution.id, listening.id} == set(ids)
    assert (len(set(ids)), ids[2], own, listening.output) == (3, "named", [3], [1, 2])
    assert [durable.get(each).output for each in ids] == [[], [], []]
    assert len({event["Detail"]["id"] for event in events(durable)}) == 1


def test_attempts_that_fail_start_each_execution_once_and_send_each_message_once(durable: Harness) -> None:
    listening = durable.start(listener)
    execution = durable.start(reaching, listening.id)
    durable.run()

    assert durable.faults.bodies == ["reach out"] * 3
    outcome(durable, execution, listening)


def test_so_do_attempts_that_die_with_their_process(durable: Harness) -> None:
    listening = durable.start(listener)
    execution = durable.start(reaching, listening.id)
    durable.faults.after(2, durable.faults.die, operation="TransactWriteItems", by="Worker")
    durable.faults.after(7, durable.faults.die, operation="TransactWriteItems", by="Worker")
    durable.run()

    outcome(durable, execution, listening)


@pytest.mark.rule("S6")
def test_another_step_or_execution_has_other_identities() -> None:
    @workflow
    def parent(ctx: Context) -> list[str]:
        return [ctx.step("start", lambda step: step.client.start(other, "x").id) for _ in range(2)]

    with Harness(workflows=[parent, other]) as durable:
        parents = [durable.start(parent) for _ in range(2)]
        durable.run()

        assert len({each for execution in parents for each in execution.output}) == 4


def test_a_rollback_sends_and_starts_once_too() -> None:
    started: list[str] = []

    def undo(undo: Undo) -> None:
        started.append(undo.client.start(other, "undo").id)
        if undo.attempt < 3:
            raise OSError("no line")

    @workflow
    def fails(ctx: Context) -> None:
        ctx.step("reserve", lambda step: None, rollback=undo)
        raise TerminalError("no")

    with Harness(workflows=[fails, other]) as durable:
        execution = durable.start(fails)
        durable.run()

        assert (execution.rollback.outcome, len(started), len(set(started))) == ("completed", 3, 1)


def test_an_event_says_where_it_is_from_and_its_detail_is_the_user_s_own(durable: Harness) -> None:
    listening = durable.start(listener)
    execution = durable.start(reaching, listening.id, execution_id="one")
    durable.run()

    event = events(durable)[0]
    assert (event["DetailType"], event["Source"]) == ("Reached", "durable.reaching")
    assert event["Detail"] == {
        "id": event["Detail"]["id"],
        "execution": execution.id,
        "workflow": "reaching",
        "detail": {"n": 4},
    }


def test_an_event_that_is_too_large_is_refused_at_the_call() -> None:
    @workflow
    def shouts(ctx: Context) -> str:
        failure = ctx.try_step("shout", lambda step: step.publish("Loud", "x" * 1_100_000), retry=Retry(0)).failure
        return failure.error.message

    with Harness(workflows=[shouts]) as durable:
        execution = durable.start(shouts)
        durable.run()

        assert execution.output.startswith("the event 'Loud' is 1,100,")


@pytest.mark.rule("D9")
def test_a_bus_out_of_reach_fails_the_attempt_and_not_the_execution(durable: Harness) -> None:
    listening = durable.start(listener)
    durable.faults.before(1, durable.faults.refuse("AccessDeniedException"), operation="PutEvents", times=2)
    execution = durable.start(reaching, listening.id)
    durable.run()

    assert (execution.status, durable.faults.bodies) == ("completed", ["reach out"] * 3)
