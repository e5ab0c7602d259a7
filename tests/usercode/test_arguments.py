"""Copies of a step's arguments: the same in value and type, and nothing that is done to one reaches another."""

from __future__ import annotations

import itertools
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from durable import InvalidCall
from durable.codec import decode, encode
from durable.codec.exact import same
from durable.usercode.arguments import copied, exhaust
from tests import hostile
from tests.codec import values as cases
from tests.codec.test_properties import VALUES

pytestmark = pytest.mark.rule("S16")

modest = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), database=None)


@dataclass
class Line:
    sku: str
    labels: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Tight:
    items: dict[str, list[int]]


class Pair(NamedTuple):
    name: str
    items: list[int]


class Record(msgspec.Struct, frozen=True):
    items: list[int]


class Plain:
    """A class that the codec can't store."""

    def __init__(self) -> None:
        self.items = [1]


@modest
@given(VALUES)
def test_a_copy_is_the_same_in_value_and_type(value: Any) -> None:
    (copy,) = copied([value])

    assert same(value, copy)
    assert encode(copy) == encode(value)


MUTABLE: dict[str, tuple[Any, Callable[[Any], object]]] = {
    "list": ([1, [2]], lambda value: value[1].append(3)),
    "dict": ({"a": {"b": 1}}, lambda value: value["a"].update(b=2)),
    "set": ({1}, lambda value: value.add(2)),
    "list in a tuple": ((1, [2]), lambda value: value[1].clear()),
    "dataclass": (Line("a", ["x"]), lambda value: value.labels.append("y")),
    "dataclass's field": (Line("a"), lambda value: setattr(value, "sku", "b")),
    "attribute beside the fields": (Line("a"), lambda value: value.__dict__.update(more=1)),
    "frozen, with slots": (Tight({"a": [1]}), lambda value: value.items["a"].append(2)),
    "named tuple": (Pair("a", [1]), lambda value: value.items.append(2)),
    "struct": (Record([1]), lambda value: value.items.append(2)),
    "model": (cases.Customer(id=1, name="a"), lambda value: setattr(value, "name", "b")),
    "dict of dataclasses": ({1: Line("a")}, lambda value: setattr(value[1], "sku", "b")),
    "bytearray": (bytearray(b"a"), lambda value: value.append(1)),
    "deque": (deque([[1]], maxlen=3), lambda value: value[0].append(2)),
    "defaultdict": (defaultdict(list, a=[1]), lambda value: value["a"].append(2)),
    "ordered dict": (OrderedDict(a=[1]), lambda value: value["a"].append(2)),
    "counter": (Counter(a=1), lambda value: value.update("a")),
    "list with what can't be stored": ([len, [1]], lambda value: value[1].append(2)),
}


@pytest.mark.parametrize("name", list(MUTABLE))
def test_what_is_done_to_a_copy_reaches_neither_the_original_nor_another_copy(name: str) -> None:
    value, change = MUTABLE[name]
    (first,), (second,), (third,) = copied([value]), copied([value]), copied(copied([value]))

    change(first)

    assert type(first) is type(value)
    assert repr(first) != repr(value) or first.__dict__ != value.__dict__
    assert repr(second) == repr(third) == repr(value)
    assert getattr(value, "__dict__", {}) == getattr(second, "__dict__", {})


def test_what_is_one_object_in_the_call_is_one_in_a_copy() -> None:
    basket: list[Any] = [1]
    first, second, (inner,) = copied([basket, basket, [basket]])

    assert first is second is inner
    assert first is not basket


def test_what_contains_itself_does_so_in_a_copy() -> None:
    circle: list[Any] = [1]
    circle.append(circle)
    node = cases.Node(1)
    node.next = node

    copy, other = copied([circle, node])

    assert copy[1] is copy is not circle
    assert other.next is other is not node


def connection() -> threading.Lock:
    return threading.Lock()


@pytest.mark.parametrize(
    "value",
    [
        Plain(),
        connection(),
        len,
        Line,
        ValueError("x"),
        cases.Color.RED,
        type("MyList", (list,), {})([1]),
        Line("a", [connection()]),
        {"client": connection()}["client"],
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_codec_can_not_store_is_passed_as_it_is(value: Any) -> None:
    (copy,) = copied([value])

    assert copy is value


def test_what_can_be_copied_beside_it_is() -> None:
    lock = connection()
    given: dict[str, Any] = {"lock": lock, "lines": [Line("a"), Line("b", [lock])]}

    (copy,) = copied([given])

    assert copy == given
    assert copy["lock"] is lock
    assert copy["lines"] is not given["lines"]
    assert [mine is theirs for mine, theirs in zip(copy["lines"], given["lines"], strict=True)] == [False, True]


@pytest.mark.rule("D14")
@pytest.mark.parametrize("name", list(hostile.VALUES))
def test_what_misbehaves_is_passed_as_it_is(name: str) -> None:
    value = hostile.VALUES[name]()

    (copy,) = copied([value])

    assert copy is value or type(copy) in (list, dict)


@pytest.mark.rule("D14")
@modest
@given(hostile.VALUE_RECIPES)
def test_so_is_anything_hostile(recipe: hostile.Recipe) -> None:
    value = recipe.make()

    (copy,) = copied([value])

    assert copy is value


@dataclass
class Twice:
    """A dataclass that changes itself whenever it is made."""

    amount: int

    def __post_init__(self) -> None:
        self.amount *= 2

    def __copy__(self) -> Twice:
        raise AssertionError("copied by a method of the user's")

    __deepcopy__ = __reduce__ = __copy__


def test_no_code_of_the_user_s_runs_for_a_copy() -> None:
    (copy,) = copied([Twice(1)])

    assert copy.amount == 2


@pytest.mark.parametrize(
    "levels",
    [50, 100_000],
)
def test_deep_nesting_is_copied_or_passed_as_it_is(levels: int) -> None:
    value = hostile.deep(levels)

    (copy,) = copied([value])

    assert (copy is value) == (levels > 100)


# --- iterators ------------------------------------------------------------------------------------------------------


def numbers() -> Iterator[int]:
    yield from (1, 2, 3)


ITERATORS: dict[str, Callable[[], Any]] = {
    "generator": numbers,
    "generator expression": lambda: (number for number in (1, 2, 3)),
    "map": lambda: map(int, "123"),
    "filter": lambda: filter(None, (0, 1, 2, 3)),
    "iterator of a list": lambda: iter([1, 2, 3]),
    "iterator of a dict": lambda: iter({1: 0, 2: 0, 3: 0}),
    "reversed": lambda: reversed([3, 2, 1]),
    "chain": lambda: itertools.chain([1], [2, 3]),
    "islice": lambda: itertools.islice(itertools.count(1), 3),
}


@pytest.mark.parametrize("name", list(ITERATORS))
def test_each_copy_of_an_iterator_gives_all_its_items(name: str) -> None:
    kept = copied([ITERATORS[name](), "more"])
    first, second = copied(kept), copied(kept)

    assert list(first[0]) == [1, 2, 3]
    assert list(first[0]) == []
    assert next(second[0]) == 1
    assert [*second[0]] == [2, 3]
    assert (first[1], iter(second[0]) is second[0]) == ("more", True)


def test_what_is_done_to_an_item_of_one_copy_reaches_no_other() -> None:
    kept = copied([zip("ab", [[1], [2]], strict=True)])
    (first,), (second,) = copied(kept), copied(kept)

    for _, items in first:
        items.clear()

    assert list(second) == [("a", [1]), ("b", [2])]


def test_one_inside_another_argument_is_passed_as_it_is() -> None:
    lines = numbers()

    (copy,) = copied([{"lines": lines}])

    assert copy["lines"] is lines
    assert list(lines) == [1, 2, 3]


def test_an_iterator_is_read_once() -> None:
    read: list[int] = []

    def reading() -> Iterator[int]:
        for number in range(3):
            read.append(number)
            yield number

    kept = copied([reading()])
    for _ in range(3):
        list(copied(kept)[0])

    assert read == [0, 1, 2]


def test_views_of_a_dict_are_as_they_were() -> None:
    prices = {"a": [1]}
    keys, values, items = kept = copied([prices.keys(), prices.values(), prices.items()])
    prices["b"] = [2]
    prices["a"].append(3)

    assert (list(keys), list(values), list(items)) == (["a"], [[1]], [("a", [1])])
    assert keys & {"a", "b"} == {"a"}
    assert [type(each) for each in copied(kept)] == [type({}.keys()), type({}.values()), type({}.items())]


@pytest.mark.parametrize("endless", [itertools.count(), itertools.repeat(1), itertools.cycle("ab")])
def test_an_iterator_without_end_is_refused(endless: Any) -> None:
    with pytest.raises(InvalidCall, match=r"has more than 100,000 items, or no end. Pass a list of what is needed"):
        copied([1, endless])


def test_an_error_of_the_iterator_s_own_is_the_workflow_s() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise LookupError("no more")

    with pytest.raises(LookupError):
        copied([failing()])


def test_an_iterator_that_a_replay_does_not_need_is_at_its_end_all_the_same() -> None:
    given = numbers()

    exhaust([1, given, "a", {"more": [1]}])

    assert list(given) == []


def test_files_and_iterators_of_the_user_s_are_passed_as_they_are() -> None:
    class Cursor:
        def __iter__(self) -> Cursor:
            return self

        def __next__(self) -> int:
            return 1

    with open(__file__) as file:  # noqa: PTH123
        cursor = Cursor()
        assert copied([file, cursor]) == (file, cursor)


def test_scalars_are_themselves() -> None:
    values = (None, True, 3, 1.5, "a", b"b", Decimal("1.50"), range(3), 2j, slice(1))

    assert all(mine is theirs for mine, theirs in zip(copied(values), values, strict=True))
    assert decode(encode(values[:7])) == values[:7]
