"""An execution expires a fixed time after its end: it is gone for everybody, its items go, and its id is free again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from durable import Context, Execution, ExecutionBusy, ExecutionNotFound, Step, workflow
from durable.testing import Harness, ProcessDied
from tests.scenarios import table
from tests.scenarios.outside import incompressible

pytestmark = pytest.mark.rule("E9")

ID = "order-1"
MONTH = 31 * 86_400
LARGE = 500_000  # of an input: no item can hold it
ran: list[str] = []


def note(step: Step, text: str) -> str:
    ran.append(step.path)
    step.db.put("seen", (step.db.get("seen", int) or 0) + 1)
    return text * 30_000


def count(step: Step[dict[str, int]]) -> int:
    step.state["filler"] = 10**1_000
    return step.db.get("seen", int) or 0


@workflow(state=dict[str, int])
def order(ctx: Context[dict[str, int]], text: str) -> str:
    """Leaves items of every kind: segments, values, a document, messages and their answers, what a step keeps."""
    for name in ("first", "second"):
        ctx.step(name, note, text[0])
    message = ctx.queue.next("wait", "letters", completable=True)
    message.complete(len(text))
    return f"{message.body} {len(text)} {ctx.step('count', count)}"


@pytest.fixture
def durable() -> Iterator[Harness]:
    ran.clear()
    with Harness(workflows=[order]) as harness:
        yield harness


def lived(durable: Harness, text: str, letter: str = "hello") -> Execution[Any, Any]:
    """An execution that has run to its end, and another message came that nobody took."""
    execution = durable.start(order, text, execution_id=ID)
    for number in (1, 2):
        execution.send("letters", letter, message_id=f"m-{number}")
    durable.run()
    assert execution.output == f"{letter} {len(text)} 2"
    ran.clear()
    return execution


PURGING = ("UpdateItem", "ListObjectsV2", "DeleteObjects", "BatchWriteItem", "DeleteItem")


def swept_with(durable: Harness, moment: str, nth: int, action: Callable[[], object]) -> None:
    """A sweeper purges, and at one of its calls this happens."""
    getattr(durable.faults, moment)(nth, action, operation=PURGING, by="client")
    with suppress(ProcessDied):
        durable.application.sweeper.sweep(lambda: 60.0)
    durable.faults.clear()


@pytest.mark.parametrize("size", [1, LARGE])
def test_a_start_of_an_expired_id_is_a_new_execution(durable: Harness, size: int) -> None:
    lived(durable, "a")
    durable.clock.advance(MONTH)

    assert lived(durable, incompressible(size), "again").output == f"again {size} 2"


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("size", [1, LARGE])
def test_wherever_a_purge_dies_the_id_is_busy_and_then_free(durable: Harness, moment: str, size: int) -> None:
    problems: list[Any] = []
    nth = 1
    while True:
        lived(durable, "a")
        durable.clock.advance(MONTH)
        died: list[int] = []
        swept_with(durable, moment, nth, lambda died=died: (died.append(1), durable.faults.die()))
        if not died:
            break
        for _ in range(100):
            try:
                execution = durable.start(order, incompressible(size), execution_id=ID)
                break
            except ExecutionBusy:
                with pytest.raises(ExecutionNotFound):
                    durable.get(ID)
                durable.clock.advance(60)
        else:
            problems.append((nth, "busy for ever"))
            break
        execution.send("letters", "again")
        durable.run()
        if (execution.status, ran) != ("completed", ["first", "second"]):
            problems.append((nth, execution.status, list(ran)))
        if execution.output != f"again {size} 2":
            problems.append((nth, execution.output))
        durable.clock.advance(MONTH)
        durable.sweep()
        nth += 1
    assert problems == []
    assert nth > 3


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_purge_that_is_late_touches_nothing_of_the_execution_that_came_after(durable: Harness, moment: str) -> None:
    problems: list[Any] = []
    nth = 1
    while True:
        lived(durable, "a")
        durable.clock.advance(MONTH)
        following: list[Execution[Any, Any]] = []

        def overtaken(following: list[Execution[Any, Any]] = following) -> None:
            """The process stands still until its time is over; another purges, and the id is used again."""
            table.set_head(durable, ID, {"purging": 1})
            execution = durable.start(order, incompressible(LARGE), execution_id=ID)
            for number in (1, 2):
                execution.send("letters", "again", message_id=f"m-{number}")
            durable.deliver_once()
            following.append(execution)

        swept_with(durable, moment, nth, overtaken)
        if not following:
            break
        before = set(table.items(durable, ID))
        durable.run()
        execution = following[0]
        if (execution.status, ran) != ("completed", ["first", "second"]) or not {"head"} <= before:
            problems.append((nth, execution.status, list(ran), before))
        elif execution.output != f"again {LARGE} 2":
            problems.append((nth, execution.output))
        elif execution.send("letters", "again", wait=0, message_id="m-1") != LARGE:
            problems.append((nth, "no response"))
        durable.clock.advance(MONTH)
        durable.sweep()
        nth += 1
    assert problems == []
    assert nth > 3


def test_nothing_of_it_stays(durable: Harness) -> None:
    lived(durable, incompressible(LARGE))
    durable.clock.advance(MONTH)
    durable.sweep()

    assert (table.items(durable, ID), durable.stored.objects(ID)) == ({}, [])


def test_an_execution_under_purge_is_gone_for_its_readers_and_busy_for_whoever_starts_it(durable: Harness) -> None:
    execution = lived(durable, "a")
    durable.clock.advance(MONTH)
    swept_with(durable, "after", 1, durable.faults.die)

    for look in (lambda: durable.get(ID), lambda: execution.status, lambda: execution.history, execution.pause):
        with pytest.raises(ExecutionNotFound):
            look()
    with pytest.raises(ExecutionNotFound):
        execution.send("letters", "late")
    with pytest.raises(ExecutionBusy, match=f"'{ID}' has expired and is being purged"):
        durable.start(order, "a", execution_id=ID)


def test_it_expires_by_its_end_and_not_by_its_start(durable: Harness) -> None:
    execution = durable.start(order, "a", execution_id=ID)
    durable.run(duration=MONTH)
    assert execution.status == "waiting"
    execution.send("letters", "hello")
    durable.run(duration=86_400 * 29)
    assert execution.status == "completed"
    durable.run(duration=86_400 * 2)
    with pytest.raises(ExecutionNotFound):
        durable.get(ID)
