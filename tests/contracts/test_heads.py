"""What holds of every store: heads, and conditional writes of them (durable.runtime.ports.Store)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from durable.codec import formats
from durable.errors import StoreError
from durable.local.conditions import holds
from durable.protocol.head import FORWARD, Head, Status, list_key
from durable.protocol.updates import Refused, Update, Where
from durable.runtime.ports import Store
from durable.testing import Harness
from durable.usercode.durations import FOREVER
from tests.contracts.heads import HELD, NEW, anyhow, full, sealed

# --- create and read -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", [NEW, full()], ids=["new", "full"])
def test_a_head_comes_back_as_it_was_written(table: Store, head: Head) -> None:
    assert table.create(head, None) is None
    assert table.read(head.execution_id) == head


def test_an_unknown_execution_is_none(table: Store) -> None:
    assert table.read("order-1") is None


@pytest.mark.rule("E2")
def test_a_second_create_returns_the_execution_that_exists_and_changes_nothing(table: Store) -> None:
    table.create(NEW, None)
    assert table.create(replace(NEW, digest="other"), None) == NEW
    assert table.create(replace(NEW, digest="other"), sealed(1, 0)) == NEW
    assert table.read("order-1") == NEW


def test_a_head_and_its_first_segment_are_written_both_or_neither(table: Store, durable: Harness) -> None:
    first = sealed(1, 0)
    head = replace(NEW, segment=first.key, segments=1)
    table.create(head, first)
    table.create(head, replace(first, entries=b"other"))
    assert table.segments(head, 0) == [first]
    with pytest.raises(StoreError):
        table.create(replace(head, execution_id="order-2"), sealed(1, 9, entries=bytes(410_000)))
    assert table.read("order-2") is None
    assert (durable.stored.items("order-1").keys(), dict(durable.stored.items("order-2"))) == ({"head", first.key}, {})


# --- conditions ------------------------------------------------------------------------------------------------------

PARKED = replace(HELD, wake=101)
CONDITIONS = [
    ("status", HELD, Where(status=FORWARD), True),
    ("status", HELD, Where(status=frozenset({Status.FAILING})), False),
    ("revision", HELD, Where(revision=4), True),
    ("revision", HELD, Where(revision=3), False),
    ("fence", HELD, Where(fence=5), True),
    ("fence", HELD, Where(fence=6), False),
    ("inbox", HELD, Where(inbox=3), True),
    ("inbox", HELD, Where(inbox=4), False),
    ("due", replace(HELD, due=9_000, due_shard="1"), Where(due=9_000), True),
    ("due", replace(HELD, due=9_000, due_shard="1"), Where(due=8_999), False),
    ("due, none", HELD, Where(due=9_000), False),
    ("due, none", HELD, Where(due=0), False),
    ("asleep", replace(HELD, wake=FOREVER), Where(asleep=True), True),
    ("asleep", PARKED, Where(asleep=True), False),
    ("not asleep", PARKED, Where(asleep=False), True),
    ("not asleep", HELD, Where(asleep=False), True),
    ("not asleep", replace(HELD, wake=FOREVER), Where(asleep=False), False),
    ("lease over", replace(HELD, lease=100), Where(free_at=100), True),
    ("lease held", replace(HELD, lease=101), Where(free_at=100), False),
    ("state", replace(HELD, state=b"t{}", state_at="state#1"), Where(state=(b"t{}", "state#1")), True),
    ("state", replace(HELD, state=b"t{}"), Where(state=(b"t{}", "state#1")), False),
    ("no state", HELD, Where(state=(b"", "")), True),
    ("no state", replace(HELD, state_at="state#1"), Where(state=(b"", "")), False),
    ("not parked", HELD, Where(unparked_at=100), True),
    ("wake time come", replace(HELD, wake=100), Where(unparked_at=100), True),
    ("parked", PARKED, Where(unparked_at=100), False),
    ("parked, message came", replace(PARKED, inbox=4), Where(unparked_at=100), True),
    ("all", HELD, Where(FORWARD, 4, 5, 3, free_at=6, unparked_at=6), True),
    ("all but one", HELD, Where(FORWARD, 4, 6, 3, free_at=6, unparked_at=6), False),
    ("none", HELD, Where(), True),
]


@pytest.mark.rule("E4")
def test_an_update_is_accepted_if_its_conditions_hold_and_refused_with_the_head_if_not(table: Store) -> None:
    for number, (_name, held, where, accepted) in enumerate(CONDITIONS):
        head = replace(held, execution_id=f"order-{number}")
        table.create(head, None)
        answer = table.update(Update(head.execution_id, where, {"nonce": "mine"}, {"fence": 1}))
        written = replace(head, nonce="mine", fence=head.fence + 1)
        assert answer == (written if accepted else Refused(head)), CONDITIONS[number]
        assert table.read(head.execution_id) == (written if accepted else head)


def either(chance: Random, *values: Any) -> Any:
    """One of the values, or no condition."""
    return chance.choice([None, *values])


@pytest.mark.rule("E4")
@pytest.mark.parametrize("seed", range(6))
def test_conditions_that_come_together_are_judged_alike_by_every_store(table: Store, seed: int) -> None:
    chance = Random(seed)
    for _ in range(20):
        head = anyhow(chance)
        where = Where(
            status=either(chance, FORWARD, frozenset({head.status})),
            revision=either(chance, 0, head.revision),
            fence=either(chance, head.fence),
            inbox=either(chance, head.inbox),
            due=either(chance, 0, 1, head.due),
            asleep=either(chance, True, False),
            free_at=either(chance, 1, 2),
            state=either(chance, (b"", ""), (head.state, head.state_at)),
            unparked_at=either(chance, 0, 1),
        )
        table.create(head, None)
        answer = table.update(Update(head.execution_id, where, {"nonce": "mine"}))
        assert answer == (replace(head, nonce="mine") if holds(head, where) else Refused(head)), where


@pytest.mark.rule("E12")
def test_a_head_of_a_newer_release_is_neither_read_nor_written(table: Store) -> None:
    newer = replace(NEW, format=formats.FORMAT + 1)
    table.create(newer, None)
    for touch in (
        lambda: table.read("order-1"),
        lambda: table.update(Update("order-1", Where(), {"nonce": "mine"})),
        lambda: table.together(Update("order-1", Where(), {"nonce": "mine"}), []),
        lambda: table.create(NEW, None),
    ):
        with pytest.raises(formats.NewerFormat, match=rf"execution 'order-1' is of format {formats.FORMAT + 1}"):
            touch()


def test_an_update_of_an_unknown_execution_is_refused_and_makes_none(table: Store) -> None:
    assert table.update(Update("order-1", Where(), {"nonce": "mine"})) == Refused(None)
    assert table.read("order-1") is None


# --- writes ----------------------------------------------------------------------------------------------------------


def test_an_update_writes_every_field_and_empties_what_it_is_to(table: Store) -> None:
    before = full()
    table.create(before, None)
    emptied = {"wake": 0, "due": 0, "skip_rollback": 0, "ended": 0, "deadline": 0, "lease": 0}
    cleared = {"due_shard": "", "state": b"", "state_at": "", "resume_to": "", "tail": b"", "segment": ""}
    written = {"status": Status.RUNNING, "segments": 7, "message": "message-2"}
    everything: Any = {**emptied, **cleared, **written}
    answer = table.update(Update("order-2", Where(), everything, {"inbox": 2, "dead": -1}))
    after = replace(before, **everything, inbox=before.inbox + 2, dead=before.dead - 1)
    assert answer == after
    assert table.read("order-2") == after


@pytest.mark.rule("E4")
def test_a_write_whose_answer_was_lost_is_recognised_by_its_nonce(table: Store) -> None:
    table.create(HELD, None)
    checkpoint = Update("order-2", Where(revision=4), {"revision": 5, "nonce": "mine"})
    table.update(checkpoint)
    refusal = table.update(checkpoint)  # what a repeated attempt meets
    assert isinstance(refusal, Refused)
    assert refusal.head is not None
    assert (refusal.head.revision, refusal.head.nonce) == (5, "mine")


def test_an_execution_keeps_the_index_attributes_that_it_was_born_with(table: Store) -> None:
    table.create(replace(NEW, list_key=list_key("checkout", "order-1", is_open=True)), None)
    table.update(Update("order-1", Where(), {"status": Status.RUNNING}))
    found = table.read("order-1")
    assert found is not None
    assert (found.list_key, found.created) == (list_key("checkout", "order-1", is_open=True), NEW.created)


# --- the due index ---------------------------------------------------------------------------------------------------


def due(execution_id: str, moment: int, *, of: str = "3") -> Head:
    return replace(NEW, execution_id=execution_id, due=moment, due_shard=of)


def test_what_is_due_is_listed_soonest_first_and_by_shard(table: Store) -> None:
    for head in [due("c", 300), due("a", 100), due("b", 200), due("x", 100, of="4"), NEW]:
        table.create(head, None)
    assert [tuple(each) for each in table.due("3", 0, 200, 10)] == [("a", 100), ("b", 200)]
    assert [tuple(each) for each in table.due("3", 0, 300, 2)] == [("a", 100), ("b", 200)]
    assert [tuple(each) for each in table.due("3", 150, 300, 10)] == [("b", 200), ("c", 300)]
    assert [tuple(each) for each in table.due("4", 0, 300, 10)] == [("x", 100)]
    assert list(table.due("5", 0, 300, 10)) == []


def test_an_execution_that_is_not_due_any_more_leaves_the_index(table: Store) -> None:
    table.create(due("a", 100), None)
    table.update(Update("a", Where(), {"due": 0, "due_shard": ""}))
    assert list(table.due("3", 0, 200, 10)) == []
