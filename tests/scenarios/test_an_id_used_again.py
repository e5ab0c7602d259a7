"""An id is used again after its execution has expired: the second life shares nothing with the first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from durable import Break, Context, Continue, Execution, Queue, Step, TerminalError, Undo, workflow
from durable.testing import Harness

MONTH = timedelta(days=31)
ID = "order-1"

seen: list[Any] = []
numbers = Queue("numbers", int)


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


@workflow
def receiver(ctx: Context) -> list[int]:
    """Lives for months, and takes what the lives of `order-1` send to it."""

    def turn(ctx: Context, got: list[int]) -> Continue[list[int]] | Break[list[int]]:
        got = [*got, ctx.queue.next("wait", numbers).body]
        return Break(got) if len(got) == 2 else Continue(got)

    begin: list[int] = []
    return ctx.loop("receive", turn, state=begin)


@workflow
def other(ctx: Context) -> None:
    """Is started by a step."""


def reach_out(step: Step, listening: str, number: int) -> str:
    step.client.get(receiver, listening).send(numbers, number)
    return step.client.start(other).id


def look(step: Step) -> None:
    seen.append((step.idempotency_key, dict(step.vars)))
    step.vars["seen"] = True
    step.publish("Looked", {})


def note(step: Step, *drawn: Any) -> None:
    seen.append(drawn)


def undo(undo: Undo[Any]) -> None:
    seen.append((undo.idempotency_key, undo.forward_idempotency_key))
    raise TerminalError("can't be undone")


@workflow
def sender(ctx: Context, listening: str) -> str:
    number = ctx.step("number", lambda step: len(seen))
    return ctx.step("reach out", reach_out, listening, number)


@workflow
def identified(ctx: Context) -> list[Any]:
    """Every identity that a workflow can ask for."""
    ctx.step("look", look, rollback=undo)
    ctx.step("note", note, str(ctx.uuid()), ctx.random().random())
    raise TerminalError("roll back")


@workflow
def sleeper(ctx: Context, days: float) -> str:
    ctx.sleep("nap", timedelta(days=days))
    return "awake"


@pytest.fixture
def durable() -> Iterator[Harness]:
    with Harness(workflows=[receiver, other, sender, identified, sleeper]) as harness:
        yield harness


def gone(durable: Harness, execution: Execution[Any, Any]) -> None:
    """The execution has expired, and the sweeper has been there."""
    assert execution.ended_at is not None
    durable.run(duration=MONTH)
    durable.sweep()


@pytest.mark.rule("S11", "E9")
def test_what_it_sends_and_starts_in_its_second_life_is_taken_and_started(durable: Harness) -> None:
    listening = durable.start(receiver)
    started = []
    for life in (1, 2):
        seen.extend([None] * (life - len(seen)))
        execution = durable.start(sender, listening.id, execution_id=ID)
        durable.run(duration=60)
        started.append(execution.output)
        if life == 2:
            assert (listening.status, listening.output) == ("completed", [1, 2])
        gone(durable, execution)

    assert len(set(started)) == 2


@pytest.mark.rule("S6", "D10", "S9", "S11", "R10")
def test_its_keys_and_identities_are_new_in_every_life(durable: Harness) -> None:
    lives: list[list[Any]] = []
    known: set[tuple[str, str]] = set()
    for _ in (1, 2):
        seen.clear()
        execution = durable.start(identified, execution_id=ID)
        durable.run(duration=60)
        assert execution.status == "failed"
        lives.append([*seen, *sorted(published(durable) - known)])
        known = published(durable)
        gone(durable, execution)

    first, second = lives
    assert len(first) == len(second) == 5
    forward, drawn, backward, *events = zip(first, second, strict=True)
    assert [one[0] != two[0] for one, two in (forward, drawn, backward)] == [True] * 3
    assert (drawn[0][1] != drawn[1][1], backward[0][1] != backward[1][1]) == (True, True)
    assert (forward[0][1], forward[1][1]) == ({}, {})
    assert [one != two for one, two in events] == [True, True]


@pytest.mark.rule("Q4", "E9")
@pytest.mark.usefixtures("no_sweeper")
def test_a_schedule_that_its_first_life_left_behind_is_not_taken_for_its_own(durable: Harness) -> None:
    durable.start(sleeper, 400, execution_id=ID)
    durable.run(duration=60)
    durable.faults.before(1, durable.faults.refuse("AccessDeniedException"), operation="DeleteSchedule", by="client")
    durable.get(ID).terminate()
    assert len(durable.schedules) == 1
    durable.run(duration=MONTH)

    execution = durable.start(sleeper, 2, execution_id=ID)
    durable.run(duration=timedelta(days=3))

    assert (execution.status, execution.output) == ("completed", "awake")


def published(durable: Harness) -> set[tuple[str, str]]:
    """The kinds and ids of the events that the bus has taken."""
    taken = [call for call in durable.calls if call.operation == "PutEvents" and call.error is None]
    entries = [entry for call in taken for entry in call.parameters["Entries"]]
    kinds = ("Looked", "rollback-failed")
    return {(each["DetailType"], json.loads(each["Detail"])["id"]) for each in entries if each["DetailType"] in kinds}
