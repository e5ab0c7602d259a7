"""The local queues, where moto differs from SQS or can't be asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from durable.errors import ConfigurationError
from durable.local.database import Database
from durable.local.messages import Messages, QueueSettings
from durable.local.schedules import Schedule, Schedules
from durable.local.store import SqliteStore
from durable.local.stream import Changes
from durable.protocol.head import Head, Status
from durable.protocol.updates import Update, Where


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.moment = 1_000

    def now(self) -> int:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.moment += round(seconds * 1000)


@pytest.fixture
def database() -> Iterator[Database]:
    made = Database()
    yield made
    made.close()


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def messages(database: Database, clock: Hand) -> Messages:
    ids = iter(f"m-{number}" for number in range(1, 100))
    queues = {"work": QueueSettings(visibility=10, delay=2, dead_letters="dead", receives=2), "dead": QueueSettings()}
    return Messages(database, queues, clock, lambda: next(ids))


def bodies(messages: Messages, count: int = 10) -> list[str]:
    return [message.body for message in messages.receive("work", count)]


@pytest.mark.rule("E6")
def test_a_message_that_is_visible_again_can_not_be_held(messages: Messages, clock: Hand) -> None:
    messages.send("work", "a", 0)
    (first,) = messages.receive("work", 1)
    assert messages.show(first.receipt, 5) is True
    clock.sleep(5)
    assert messages.show(first.receipt, 5) is False
    assert bodies(messages) == ["a"]


def test_a_message_waits_as_long_as_its_queue_says_if_it_says_nothing_itself(messages: Messages, clock: Hand) -> None:
    messages.send("work", "late")
    messages.send("work", "at once", 0)
    assert bodies(messages) == ["at once"]
    clock.sleep(2)
    assert bodies(messages) == ["late"]


def test_a_receive_takes_as_many_as_it_asks_for_past_the_dead_ones(messages: Messages, clock: Hand) -> None:
    for body in "ab":
        messages.send("work", body, 0)
    for _ in range(2):
        assert bodies(messages, 2) == ["a", "b"]
        clock.sleep(10)
    for body in "cd":
        messages.send("work", body, 0)
    assert bodies(messages, 2) == ["c", "d"]
    assert [(message.body, message.origin) for message in messages.waiting("dead")] == [("a", "work"), ("b", "work")]


def test_a_receipt_of_a_message_that_is_gone_touches_no_later_one(messages: Messages) -> None:
    messages.send("work", "a", 0)
    (gone,) = messages.receive("work", 1)
    messages.delete(gone.receipt)
    messages.send("work", "b", 0)  # SQLite may give it the number of the other
    (other,) = messages.receive("work", 1)
    messages.delete(gone.receipt)
    assert messages.show(gone.receipt, 0) is False
    assert [message.id for message in messages.waiting()] == [other.id]


def test_a_queue_that_is_not_there_is_told(messages: Messages) -> None:
    with pytest.raises(ConfigurationError, match="there is no queue 'wrok'; there are work, dead"):
        messages.send("wrok", "a")


@pytest.mark.rule("Q4")
def test_a_schedule_fires_once_and_not_before_its_time(messages: Messages, database: Database, clock: Hand) -> None:
    schedules = Schedules(database)
    for name, moment in (("b", 5_000), ("a", 3_000)):
        schedules.add(Schedule(name, moment, "work", name))
    for moment, due in ((2_999, []), (3_000, ["a"]), (9_000, ["b"]), (10_000, [])):
        clock.moment = moment
        schedules.fire(messages, moment)
        assert bodies(messages) == due
    assert (schedules.next(), schedules.pending()) == (None, [])


@pytest.mark.rule("R3")
def test_the_stream_has_every_change_of_a_status_or_of_a_rollbacks_outcome_and_no_other_write(
    database: Database,
) -> None:
    store, changes = SqliteStore(database), Changes(database)
    head = Head("order-1", Status.PENDING, "checkout", 1, created=1_000)
    store.create(head, None)
    made: list[Any] = [{"nonce": "x"}, {"status": Status.RUNNING}, {"revision": 4}, {"rollback": "failed"}]
    for write in made:
        store.update(Update("order-1", Where(), write))

    found = changes.after(0)

    statuses = [
        (change.before and change.before.status, change.after.status, change.after.rollback) for change in found
    ]
    assert statuses == [(None, "pending", ""), ("pending", "running", ""), ("running", "running", "failed")]
    assert changes.after(found[1].number) == found[2:]
    changes.forget(found[-1].number)
    assert changes.after(0) == []
    store.update(Update("order-1", Where(), {"status": Status.FAILED}))
    assert [change.number for change in changes.after(0)] == [found[-1].number + 1]
