"""The keys of items: each life of an id, each lease and each write has its own."""

from __future__ import annotations

from itertools import product

import pytest

from durable.protocol import keys

pytestmark = pytest.mark.rule("E14", "E9")

BIRTHS = (1_893_456_000_000, 1_893_456_000_001)


def test_a_segment_s_key_is_another_for_each_life_number_lease_and_write() -> None:
    made = {keys.segment(*of) for of in product(BIRTHS, (1, 2, 10), (1, 11), (1, 11))}
    assert len(made) == 2 * 3 * 2 * 2


def test_segments_sort_by_number_and_tell_it() -> None:
    made = [keys.segment(BIRTHS[0], number, 9, 9) for number in (1, 2, 10, 999_999)]
    assert sorted(made) == made
    assert [keys.segment_number(key) for key in made] == [1, 2, 10, 999_999]
    assert all(key.startswith(keys.segments_from(keys.segment_number(key))) for key in made)


@pytest.mark.parametrize("name", ["a", "a#1", "a#1893456000000", "", "é", "a.1"])
def test_whatever_it_is_called_an_item_tells_its_life(name: str) -> None:
    for birth in BIRTHS:
        for make in (keys.sent, keys.reply, keys.database, keys.payload, keys.state):
            assert keys.birth(make(birth, name)) == birth
            assert keys.birth(keys.piece(make(birth, name), 3)) == birth
    assert keys.birth(keys.HEAD) == 0


def test_a_purge_deletes_what_is_of_its_life_or_of_an_earlier_one() -> None:
    early, late = BIRTHS[0], BIRTHS[0] + 1
    assert keys.goes_with(keys.sent(early, "a"), early)
    assert keys.goes_with(keys.sent(early, "a"), late)
    assert not keys.goes_with(keys.sent(late, "a"), early)
    assert not any(keys.goes_with(key, late) for key in (keys.HEAD, keys.message("pay", 1)))


def test_no_two_things_have_one_key() -> None:
    makers = (keys.sent, keys.reply, keys.database, keys.payload, keys.state)
    made = [make(birth, name) for make in makers for birth in BIRTHS for name in ("a", "b", "a#b")]
    made += [keys.message(queue, number) for queue in ("a", "b", "a#b", "a%23b") for number in (1, 2)]
    made += [keys.piece(key, at) for key in made if not keys.is_message(key) for at in (0, 1)]
    assert len(set(made)) == len(made)


def test_messages_of_a_queue_sort_by_number_and_belong_to_no_other_queue() -> None:
    made = [keys.message("pay", number) for number in (1, 2, 10)]
    assert sorted(made) == made
    assert all(key.startswith(keys.messages("pay")) and keys.is_message(key) for key in made)
    assert not keys.message("payments", 1).startswith(keys.messages("pay"))
    assert not keys.message("pay#ments", 1).startswith(keys.messages("pay"))
    assert keys.birth(keys.message("pay", 1_893_456_000)) == 0
