"""Paths: names that never collide with their separators, and say so when they can't be one."""

from __future__ import annotations

from itertools import combinations

import pytest

from durable.engine.paths import MAX_BYTES, Names, counted, iteration, leaf, segment
from durable.errors import InvalidName

pytestmark = pytest.mark.rule("D5")


class Scope:
    """The names of a scope, as paths."""

    def __init__(self, path: str) -> None:
        self._names = Names(path)

    def name(self, name: str) -> str:
        path, last = self._names.next(name)
        assert path.endswith(last)
        return path


def nested(*names: str) -> str:
    """The path of an operation that stands inside blocks of these names."""
    path = ""
    for name in names:
        path = Scope(path).name(name)
    return path


def test_a_name_at_the_root_is_its_path() -> None:
    assert Scope("").name("charge") == "charge"


def test_a_name_in_a_scope_stands_behind_it() -> None:
    assert nested("flow", "authorize") == "flow/authorize"


def test_a_repeated_name_is_counted_in_its_scope() -> None:
    scope, other = Scope(""), Scope("flow")

    assert [scope.name("embed") for _ in range(3)] == ["embed", "embed#2", "embed#3"]
    assert [scope.name("store"), other.name("embed")] == ["store", "flow/embed"]


def test_an_iteration_has_its_number() -> None:
    assert iteration("payments", 3) == "payments[3]"


def test_the_leaf_is_the_last_name_with_its_count() -> None:
    assert [leaf("flow/payments[3]/plan#2"), leaf("plan")] == ["plan#2", "plan"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/b", "a%2Fb"),
        ("a#2", "a%232"),
        ("a[3]", "a%5B3%5D"),
        ("a%2Fb", "a%252Fb"),
        ("q:count", "q:count"),
        ("naïve ✓", "naïve ✓"),
    ],
)
def test_separators_in_a_name_are_escaped(name: str, expected: str) -> None:
    assert segment(name) == expected


def test_no_two_places_share_a_path() -> None:
    scope = Scope("")
    twice = [scope.name("a"), scope.name("a")]
    places = [
        *twice,
        nested("a", "b"),
        nested("a/b"),
        nested("a%2Fb"),
        nested("a#2"),
        nested("a%232"),
        nested("a[0]"),
        iteration("a", 0),
        nested("a[0]/b"),
        Scope(iteration("a", 0)).name("b"),
        nested("a:count"),
        nested("q", "count"),
        nested("q:count"),
        nested("q#count"),
    ]

    assert [pair for pair in combinations(places, 2) if pair[0] == pair[1]] == []


def test_a_counted_name_can_not_be_taken_by_a_name_with_a_hash() -> None:
    scope = Scope("")

    assert [scope.name("a"), scope.name("a#2"), scope.name("a")] == ["a", "a%232", "a#2"]


@pytest.mark.parametrize("name", ["x" * MAX_BYTES, "é" * (MAX_BYTES // 2), "/" * (MAX_BYTES // 3)])
def test_a_name_of_256_bytes_is_taken(name: str) -> None:
    assert len(segment(name).encode()) in (255, 256)


@pytest.mark.parametrize("name", ["x" * (MAX_BYTES + 1), "é" * 129, "/" * 86])
def test_a_longer_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidName, match=r"is 25[78] bytes with its suffix; at most 256 fit"):
        segment(name)


def test_the_suffix_counts_towards_the_256_bytes() -> None:
    scope = Scope("")
    name = "x" * (MAX_BYTES - 1)

    assert scope.name(name) == name
    with pytest.raises(InvalidName, match="is 257 bytes with its suffix"):
        scope.name(name)
    assert counted("x" * (MAX_BYTES - 2), 2) == "x" * (MAX_BYTES - 2) + "#2"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "is empty"),
        (3, "is a string, not int: 3"),
        (None, "is a string, not NoneType: None"),
        (b"charge", "is a string, not bytes: b'charge'"),
        ("\ud800", "lone surrogate"),
    ],
)
def test_what_is_no_name_is_refused(name: str, why: str) -> None:
    with pytest.raises(InvalidName, match=why):
        Scope("").name(name)
