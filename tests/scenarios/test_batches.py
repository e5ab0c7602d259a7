"""Several continuations in one batch: each is dealt with on its own, and what failed comes back alone (E6)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from durable import Context, Step, workflow
from durable.protocol.continuation import continuation_of
from durable.testing import Harness
from tests.scenarios import table

pytestmark = pytest.mark.usefixtures("no_sweeper")

ran: list[str] = []


def note(step: Step, name: str) -> None:
    ran.append(f"{name} {step.path}")


@workflow
def two_steps(ctx: Context, name: str) -> None:
    ctx.step("first", note, name)
    ctx.step("second", note, name)


@workflow
def sleeper(ctx: Context, name: str) -> None:
    ctx.sleep("nap", 600)
    ctx.step("first", note, name)


@pytest.fixture
def durable() -> Iterator[Harness]:
    ran.clear()
    with Harness(workflows=[two_steps, sleeper], parameters={"BatchSize": 10}) as harness:
        yield harness


def send(durable: Harness, body: str) -> None:
    """Puts a message of one's own into the queue of continuations."""
    durable.put_message(body)


def again(durable: Harness, execution_id: str) -> None:
    """Another continuation of the current revision."""
    durable.application.queue.send(continuation_of(table.head(durable, execution_id)))


@pytest.mark.rule("E6")
def test_only_what_is_held_comes_back(durable: Harness) -> None:
    sleeping = durable.start(sleeper, "sleeper")
    durable.deliver_once()
    again(durable, sleeping.id)
    started = [durable.start(two_steps, name) for name in ("a", "b")]

    batch = durable.take()
    assert batch is not None
    answer = batch.deliver().answer

    early = batch.records[0]["messageId"]
    assert (len(batch.records), answer) == (3, {"batchItemFailures": [{"itemIdentifier": early}]})
    assert ran == ["a first", "b first"]
    durable.run()
    assert [execution.status for execution in (sleeping, *started)] == ["completed"] * 3
    assert (sorted(ran), durable.messages()) == (
        ["a first", "a second", "b first", "b second", "sleeper first"],
        [],
    )


@pytest.mark.rule("E6", "E3")
def test_two_messages_of_one_execution_in_one_batch_take_their_turn(durable: Harness) -> None:
    execution = durable.start(two_steps, "a")
    durable.start(two_steps, "a", execution_id=execution.id)
    again(durable, execution.id)

    batch = durable.take()
    assert batch is not None
    assert (len(batch.records), batch.deliver().answer) == (3, {"batchItemFailures": []})
    durable.run()

    assert (execution.status, ran, len(durable.sent)) == ("completed", ["a first", "a second"], 5)


@pytest.mark.rule("E6", "E10")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("nonsense", "not a continuation: "),
        (
            '{"format": 0, "execution": "a", "revision": 1}',
            "a continuation of format 0, which there has never been",
        ),
        ('{"format": 1, "execution": "a"}', "a continuation that lacks something: "),
    ],
)
def test_a_message_that_cannot_be_read_is_rejected_and_the_rest_goes_on(
    durable: Harness, body: str, reason: str
) -> None:
    first = durable.start(two_steps, "a")
    send(durable, body)
    last = durable.start(two_steps, "b")
    durable.run()

    assert ([first.status, last.status], ran) == (
        ["completed", "completed"],
        ["a first", "b first", "a second", "b second"],
    )
    (rejected,) = durable.messages(None)
    assert (rejected.queue, rejected.body) == ("RejectedQueue", body)
    assert rejected.attributes["reason"]["StringValue"].startswith(reason)


@pytest.mark.rule("E6", "D9")
def test_a_neighbour_whose_write_fails_comes_back_alone(durable: Harness) -> None:
    first, second = durable.start(two_steps, "a"), durable.start(two_steps, "b")
    refuse = durable.faults.refuse("AccessDeniedException")
    durable.faults.before(1, refuse, operation="UpdateItem", by="Worker")
    batch = durable.take()
    assert batch is not None

    answer = batch.deliver().answer

    assert answer == {"batchItemFailures": [{"itemIdentifier": batch.records[0]["messageId"]}]}
    assert ran == ["b first"]
    durable.run()
    assert [first.status, second.status] == ["completed", "completed"]


@pytest.mark.rule("E6", "S4")
def test_a_neighbour_that_kills_the_process_charges_nobody(durable: Harness) -> None:
    executions = [durable.start(two_steps, name) for name in ("a", "b", "c")]
    durable.faults.in_body(2, durable.faults.die, times=3)
    durable.run()

    assert [execution.status for execution in executions] == ["completed"] * 3
    assert sorted(ran) == [f"{name} {step}" for name in "abc" for step in ("first", "second")]
    for execution in executions:
        assert all(entry.attempts <= 4 for entry in execution.history)
