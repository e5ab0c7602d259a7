"""What holds of every store: segments, values, and the deletion of all that an execution has."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from durable.api.messages import Sent
from durable.errors import StoreError
from durable.protocol import keys
from durable.protocol.head import Head, Status, shard
from durable.protocol.updates import Segment
from durable.runtime.ports import Store
from durable.testing import Harness
from tests.contracts.heads import BIRTH, NEW, sealed

STATE = keys.state(BIRTH, 1)

# --- segments --------------------------------------------------------------------------------------------------------


def test_the_chain_is_read_oldest_first_and_orphans_of_crashes_are_not_of_it(table: Store) -> None:
    one = sealed(1, 1)
    two = sealed(2, 9, one.key)
    three = sealed(3, 12, two.key)
    orphans = [
        sealed(2, 1, one.key),
        sealed(2, 10, one.key),
        sealed(3, 9, "history#000002#1"),
        sealed(4, 13, three.key),
    ]
    for segment in [*orphans, three, one, two]:
        table.seal("order-1", segment)
    head = replace(NEW, segment=three.key, segments=3)
    assert list(table.segments(head, 0)) == [one, two, three]
    assert list(table.segments(head, 1)) == [two, three]
    assert list(table.segments(head, 3)) == []
    assert list(table.segments(replace(NEW, segment=one.key, segments=1), 0)) == [one]
    assert list(table.segments(NEW, 0)) == []


def test_a_broken_chain_says_which_execution_and_what_to_do(table: Store) -> None:
    broken = sealed(2, 1, keys.segment(BIRTH, 1, 1, 0))
    table.seal("order-1", broken)
    with pytest.raises(StoreError, match=rf"execution 'order-1' lacks a segment .* '{broken.key}': .* Restore"):
        table.segments(replace(NEW, segment=broken.key, segments=2), 0)


def test_a_history_of_more_than_a_page_is_read_whole(table: Store) -> None:
    chain: list[Segment] = []
    for number in range(1, 13):
        chain.append(sealed(number, 1, chain[-1].key if chain else "", bytes([number]) * 150_000))
        table.seal("order-1", chain[-1])
    assert list(table.segments(replace(NEW, segment=chain[-1].key, segments=12), 0)) == chain


# --- values ----------------------------------------------------------------------------------------------------------


def test_a_value_of_its_own_is_kept_and_overwritten(table: Store) -> None:
    table.keep("order-1", STATE, b"\x00one")
    table.keep("order-1", STATE, b"\x00two")
    assert (table.kept("order-1", STATE), table.find("order-1", STATE)) == (b"\x00two", b"\x00two")


def test_a_value_that_must_be_new_is_written_once_and_recognised(table: Store) -> None:
    assert table.keep("order-1", STATE, b"one", new=True) is True
    assert table.keep("order-1", STATE, b"one", new=True) is True  # its answer was lost
    assert table.keep("order-1", STATE, b"two", new=True) is False
    assert table.kept("order-1", STATE) == b"one"


def test_a_value_that_is_gone_says_whose_it_was(table: Store) -> None:
    assert table.find("order-1", STATE) is None
    with pytest.raises(StoreError, match=f"execution 'order-1' has no value '{STATE}'"):
        table.kept("order-1", STATE)


def test_a_value_over_the_limit_says_so(table: Store) -> None:
    table.keep("order-1", STATE, bytes(390_000))
    with pytest.raises(StoreError, match=rf"keep value '{STATE}' of execution 'order-1'.* 400 KB"):
        table.keep("order-1", STATE, bytes(410_000))


def test_items_that_nothing_names_are_dropped_and_those_gone_are_no_fault(table: Store) -> None:
    table.create(NEW, None)
    for number in range(30):
        table.keep("order-1", keys.state(BIRTH, number), b"old")
    table.drop("order-1", [keys.state(BIRTH, number) for number in range(31)])
    table.drop("order-1", [])
    assert [table.find("order-1", keys.state(BIRTH, number)) for number in range(30)] == [None] * 30
    assert table.read("order-1") == NEW


# --- purge -----------------------------------------------------------------------------------------------------------


def ended_with_items(table: Store, count: int) -> Head:
    head = replace(NEW, status=Status.COMPLETED, due=500, due_shard=shard("order-1"), segment=sealed(1, 1).key)
    table.create(head, None)
    table.create(replace(NEW, execution_id="order-10"), None)
    for number in range(1, count + 1):
        table.seal("order-1", sealed(number, 1))
    table.keep("order-1", STATE, b"document")
    return head


@pytest.mark.rule("E9")
def test_purging_deletes_every_item_of_the_execution_and_no_other(table: Store, durable: Harness) -> None:
    table.purge(ended_with_items(table, 60))
    assert dict(durable.stored.items("order-1")) == {}
    assert table.read("order-10") is not None


@pytest.mark.rule("E9")
@pytest.mark.parametrize("other", [{"purging": 901}, {"created": 1_001}, {"status": Status.FAILED}])
def test_purging_keeps_a_head_that_is_no_longer_as_given(table: Store, other: dict[str, Any]) -> None:
    head = ended_with_items(table, 1)
    table.purge(replace(head, **other))
    assert table.read("order-1") == head


@pytest.mark.rule("E9")
def test_purging_spares_a_later_execution_of_the_same_id(table: Store, durable: Harness) -> None:
    head = ended_with_items(table, 1)
    table.purge(head)
    following = replace(NEW, created=BIRTH + 1)
    table.create(following, None)
    sent = Sent(id="m-1", queue="letters", number=1)
    kept = {keys.state(BIRTH + 1, 1): b"of another life", keys.message("letters", 1): msgspec.json.encode(sent)}
    for key, value in kept.items():
        table.keep("order-1", key, value)
    table.purge(head)  # late, by a process that was slow
    assert durable.stored.items("order-1").keys() == {"head", *kept}
    assert table.read("order-1") == following


def test_purging_twice_is_fine(table: Store) -> None:
    head = ended_with_items(table, 1)
    table.purge(head)
    table.purge(head)
    assert table.read("order-1") is None
