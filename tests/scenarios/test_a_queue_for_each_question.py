"""A workflow that asks each question on a queue of its own: what the head remembers of the old ones stays bounded (L3, Q2)."""

from __future__ import annotations

import pytest

from durable import Break, Context, Continue, QueueTimeout, workflow
from durable.runtime.storage.sizes import head_size
from durable.testing import Harness
from tests.scenarios import table

pytestmark = pytest.mark.rule("Q2")

QUESTIONS = 60


def ask(ctx: Context, number: int) -> Continue[int] | Break[int]:
    answer = ctx.queue.next("answer", f"answer-to-question-{number}", body=int)
    ctx.step("use", lambda step: answer.body)
    return Break(number) if number == QUESTIONS - 1 else Continue(number + 1)


@workflow
def survey(ctx: Context) -> int:
    return ctx.loop("questions", ask, state=0, prune_every=5)


@pytest.mark.rule("L3")
def test_the_head_stays_small_and_nothing_is_left(durable: Harness) -> None:
    execution = durable.start(survey)
    largest = most = 0
    for number in range(QUESTIONS):
        execution.send(f"answer-to-question-{number}", number)
        durable.run(0)
        largest = max(largest, head_size(table.head(durable, execution.id)))
        most = max(most, len(table.items(durable, execution.id)))

    assert (execution.status, execution.output) == ("completed", QUESTIONS - 1)
    assert (largest <= 1_000, most <= 12) == (True, True)


@workflow
def asks_again(ctx: Context) -> list[int]:
    taken = [ctx.queue.next("first", "first", body=int).body]
    for number in range(40):
        ctx.queue.next("other", f"other-{number}")
    try:
        taken.append(ctx.queue.next("again", "first", body=int, timeout=60).body)
    except QueueTimeout:
        taken.append(-1)
    return taken


@workflow
def asks_everybody(ctx: Context) -> list[int]:
    answers = [message.body for message in ctx.queue.next_batch("all", body=int, count=30)]
    return [*answers, *(message.body for message in ctx.queue.next_batch("more", body=int, count=30, timeout=0))]


@pytest.mark.parametrize("sent_again", [True, False])
def test_a_message_that_a_crash_left_behind_is_not_taken_again(durable: Harness, sent_again: bool) -> None:
    execution = durable.start(asks_again)
    durable.run(0)
    execution.send("first", 1)
    with durable.unrecorded():
        stored = durable.application.store.kept(execution.id, "message#first#0000000001")
    durable.run(0)
    assert "message#first#0000000001" not in table.items(durable, execution.id)
    with durable.unrecorded():  # as if it had died
        durable.application.store.keep(execution.id, "message#first#0000000001", stored)

    for number in range(40):
        execution.send(f"other-{number}", number)
        durable.run(0)
    assert "message#first#0000000001" not in table.items(durable, execution.id)
    if sent_again:
        execution.send("first", 2)
    durable.run()

    assert execution.output == ([1, 2] if sent_again else [1, -1])


def test_what_is_about_to_be_taken_stays_until_it_is_recorded(durable: Harness) -> None:
    """A batch from more queues than the head remembers, in a process that dies before its checkpoint."""
    execution = durable.start(asks_everybody)
    for number in range(30):
        execution.send(f"other-{number}", number)
    durable.faults.before(1, durable.faults.die, by="Worker", operation="PutItem")  # the checkpoint's sealed segment
    durable.run()

    assert execution.output == list(range(30))


@pytest.fixture
def durable_workflows() -> list[object]:
    return [survey, asks_again, asks_everybody]
