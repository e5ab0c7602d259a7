"""Every row of S12, typed and tagged: the value and the type come back, and the bytes are the same again."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from durable.codec import decode, encode, settle
from durable.codec.exact import same
from tests.codec import values as cases

ID = UUID("12345678-1234-5678-1234-567812345678")
VIENNA = ZoneInfo("Europe/Vienna")
EAST = timezone(timedelta(hours=5, minutes=30))
LINE = cases.Line("a-1", 2, Decimal("19.90"))
ORDER = cases.Order(ID, [LINE], datetime(2026, 1, 2, 3, 4, 5, 678901, EAST), labels={"b": "1", "a": "2"})
INDEXED = cases.Indexed(["a", "b"])
assert INDEXED.total == 2  # fills the cached property


class Case(NamedTuple):
    """A value, and the annotation that it is typed by; Any where only tags can tell what it is."""

    name: str
    value: Any
    annotation: Any
    form: str = "typed"


CASES = [
    Case("none", None, None),
    Case("true", True, bool),
    Case("text", 'äöü 🦆 \x00 " \\ ~', str),
    Case("empty text", "", str),
    Case("int", 42, int),
    Case("int beyond 64 bits", -(2**64) - 1, int),
    Case("int of 1000 digits", 10**1000 + 7, int),
    Case("int of 10000 digits", -(10**10000) - 7, int, "tagged"),
    Case("float", 0.1, float),
    Case("float without fraction", 3.0, float),
    Case("float of a large exponent", 1e22, float),
    Case("negative zero", -0.0, float),
    Case("denormal", 1e-320, float),
    Case("largest float", 1.7976931348623157e308, float),
    Case("nan", math.nan, float, "tagged"),
    Case("infinity", math.inf, float, "tagged"),
    Case("negative infinity", -math.inf, float, "tagged"),
    Case("nan in an optional", math.nan, float | None, "tagged"),
    Case("bytes", b"\x00\xff\xfe", bytes),
    Case("decimal with its scale", Decimal("1.500"), Decimal),
    Case("decimal with an exponent", Decimal("1E+3"), Decimal),
    Case("decimal of 60 digits", Decimal("1." + "123456789" * 7), Decimal),
    Case("decimal zero with a sign", Decimal("-0.00"), Decimal),
    Case("decimal nan", Decimal("NaN"), Decimal),
    Case("decimal signalling nan", Decimal("sNaN123"), Decimal),
    Case("decimal infinity", Decimal("-Infinity"), Decimal),
    Case("naive datetime", datetime(2026, 1, 2, 3, 4, 5, 6), datetime),
    Case("first datetime", datetime.min, datetime),
    Case("datetime in utc", datetime(2026, 1, 2, tzinfo=UTC), datetime),
    Case("datetime with an offset", datetime(2026, 1, 2, tzinfo=EAST), datetime),
    Case("datetime with an offset of zero", datetime(2026, 1, 2, tzinfo=timezone(timedelta(0))), datetime),
    Case(
        "datetime with seconds in its offset",
        datetime(1900, 1, 1, tzinfo=timezone(timedelta(seconds=1172))),
        datetime,
        "tagged",
    ),
    Case(
        "datetime with a named offset",
        datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=-5), "EST")),
        datetime,
        "tagged",
    ),
    Case("datetime in a zone", datetime(2026, 7, 2, tzinfo=VIENNA), datetime, "tagged"),
    Case(
        "datetime in a zone, the second time", datetime(2026, 10, 25, 2, 30, tzinfo=VIENNA, fold=1), datetime, "tagged"
    ),
    Case("datetime in the zone of utc", datetime(2026, 7, 2, tzinfo=ZoneInfo("UTC")), datetime, "tagged"),
    Case("naive datetime with fold", datetime(2026, 10, 25, 2, 30, fold=1), datetime, "tagged"),
    Case("date", date(2026, 2, 28), date),
    Case("time", time(12, 30, 1, 5), time),
    Case("time with an offset", time(12, 30, tzinfo=EAST), time),
    Case("time in a zone", time(2, 30, tzinfo=VIENNA, fold=1), time, "tagged"),
    Case("timedelta", timedelta(days=3, seconds=5, microseconds=7), timedelta),
    Case("negative timedelta", -timedelta(microseconds=1), timedelta),
    Case("longest timedelta", timedelta.max, timedelta),
    Case("uuid", ID, UUID),
    Case("enum", cases.Color.RED, cases.Color),
    Case("int enum", cases.Level.HIGH, cases.Level),
    Case("str enum", cases.Mood.GOOD, cases.Mood),
    Case("enum that is a str", cases.Named.ONE, cases.Named),
    Case("enum of look-alikes", cases.Mixed.TEXT, cases.Mixed, "tagged"),
    Case("enum with a tuple for its value", cases.Mixed.PAIR, cases.Mixed, "tagged"),
    Case("enum with an opaque value", cases.Opaque.THING, cases.Opaque, "tagged"),
    Case("enum with nan for its value", cases.Opaque.NOT_A_NUMBER, cases.Opaque, "tagged"),
    Case("flag", cases.Access.READ, cases.Access),
    Case("combined flag", cases.Access.READ | cases.Access.WRITE, cases.Access),
    Case("empty flag", cases.Access(0), cases.Access),
    Case("combined int flag", cases.Bits.ONE | cases.Bits.TWO, cases.Bits),
    Case("literal", "card", cases.Choice),
    Case("list", [1, 2, 3], list[int]),
    Case("empty list", [], list[int]),
    Case("list of lists", [[1.5], []], list[list[float]]),
    Case("list of look-alikes", [1, True, 1.0, "1", None, Decimal(1)], list[Any], "tagged"),
    Case("sequence", [1, 2], Sequence[int]),
    Case("tuple", (1, "a"), tuple[int, str]),
    Case("tuple of any length", (1, 2, 3), tuple[int, ...]),
    Case("empty tuple", (), tuple[int, ...]),
    Case("tuple for a list", (1, 2), list[int], "tagged"),
    Case("set", {3, 1, 2}, set[int]),
    Case("set of text", {"b", "a", "ä"}, set[str]),
    Case("set of look-alikes", {1, "1", (1,), None}, set[Any], "tagged"),
    Case("frozenset", frozenset({1.5, -1.5}), frozenset[float]),
    Case("set of frozen values", {cases.Frozen(1), cases.Frozen(2)}, set[cases.Frozen], "tagged"),
    Case("set in a dict", {"a": {"x"}}, dict[str, set[str]], "tagged"),
    Case("dict", {"b": 1, "a": 2}, dict[str, int]),
    Case("empty dict", {}, dict[str, int]),
    Case("mapping", {"b": 1, "a": 2}, Mapping[str, int]),
    Case("dict with int keys", {2: "b", 1: "a"}, dict[int, str]),
    Case("dict with uuid keys", {ID: 1}, dict[UUID, int]),
    Case("dict with date keys", {date(2026, 1, 1): 1}, dict[date, int]),
    Case("dict with enum keys", {cases.Color.RED: 1}, dict[cases.Color, int]),
    Case("dict with tuple keys", {(1, "a"): "x"}, dict[tuple[int, str], str], "tagged"),
    Case("dict with bool keys", {True: 1, False: 0}, dict[bool, int], "tagged"),
    Case("dict with a None key", {None: 1}, dict[None, int], "tagged"),
    Case(
        "dict with look-alike keys",
        {1: "int", "1": "str", 1.5: "float", "True": "t", None: 0},
        dict[Any, Any],
        "tagged",
    ),
    Case("dict with True for 1", {True: "bool"}, dict[int, str], "tagged"),
    Case("dict with frozenset keys", {frozenset({1}): {2}}, dict[Any, Any], "tagged"),
    Case("dict with the key of the tags", {"~": "decimal", "value": "1.5"}, dict[str, str]),
    Case("dict with the key of the tags inside", [{"~": {"~": 1}}], list[dict[str, Any]], "tagged"),
    Case("dict in any order", {"z": 1, "a": [2], "m": {"y": 1, "b": 2}}, dict[str, Any], "tagged"),
    Case("typed dict", {"limit": 3, "verbose": True}, cases.Options),
    Case("dataclass", LINE, cases.Line),
    Case("nested dataclass", ORDER, cases.Order),
    Case("subclass with more fields", [cases.GiftLine("b", 1, Decimal(3), "hi")], list[cases.Line], "tagged"),
    Case("subclass without more fields", cases.LoggedOrder(ID, [], datetime(2026, 1, 1)), cases.Order, "tagged"),
    Case("frozen dataclass", cases.Frozen(1, -0.0), cases.Frozen),
    Case("dataclass with slots", cases.Slotted(1), cases.Slotted),
    Case("dataclass with all options", cases.Tight(name="n", on=date(2026, 1, 1)), cases.Tight),
    Case("generic dataclass", cases.Box([1]), cases.Box[list[int]]),
    Case("generic dataclass made by its alias", cases.Box[int](1), cases.Box[int]),
    Case("generic dataclass without argument", cases.Box(Decimal("1.0")), cases.Box, "tagged"),
    Case("dataclass with a derived field", cases.Derived(2), cases.Derived),
    Case("dataclass that counts", cases.Counted(2), cases.Counted, "tagged"),
    Case("dataclass with InitVar", cases.Seeded(2), cases.Seeded, "tagged"),
    Case("dataclass with another attribute", INDEXED, cases.Indexed),
    Case("recursive dataclass", cases.Node(1, cases.Node(2)), cases.Node),
    Case("dataclass with an int for a float", cases.Frozen(1, 2), cases.Frozen, "tagged"),
    Case("dataclass that holds anything", cases.Holder({"x": (1, LINE)}), cases.Holder, "tagged"),
    Case("nested class", cases.Outer.Inner(1), cases.Outer.Inner),
    Case("optional dataclass", LINE, cases.Line | None),
    Case("union", ORDER, cases.Order | cases.Refund, "tagged"),
    Case("union of look-alikes", "1.0", Decimal | str, "tagged"),
    Case("named tuple", cases.Point(1, 2), cases.Point),
    Case("named tuple without types", cases.Pair(1, "b"), cases.Pair, "tagged"),
    Case("named tuple for a tuple", cases.Point(1, 2), tuple[int, int], "tagged"),
    Case("struct", cases.Shape(4), cases.Shape),
    Case(
        "pydantic model",
        cases.Customer(id=1, name="n", balance=Decimal("1.10"), joined=date(2026, 1, 1)),
        cases.Customer,
    ),
    Case("pydantic model with fields not set", cases.Customer(id=1), cases.Customer),
    Case(
        "nested pydantic model",
        cases.Account(owner=cases.Customer(id=2), lines=[LINE], photo=b"\xff\x00"),
        cases.Account,
    ),
    Case("list of pydantic models", [cases.Customer(id=1), cases.Customer(id=2**70)], list[cases.Customer]),
    Case("pydantic model with extra fields", cases.Open(x=1, y=(1, 2)), cases.Open, "tagged"),
    Case("pydantic model with private attributes", cases.Secretive(x=1), cases.Secretive, "tagged"),
    Case("pydantic model with a validator", cases.Validated(count=1), cases.Validated),
    Case("pydantic model with an alias", cases.Aliased(unitPrice=Decimal("1.50")), cases.Aliased),
    Case("pydantic root model", cases.Numbers([1, 2]), cases.Numbers),
    Case("everything at once", {"a": [ORDER, (b"x", {1.5})], "b": {ID: cases.Color.RED}}, dict[str, Any], "tagged"),
]

each_case = pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])


def assert_round_trip(value: Any, annotation: Any) -> bytes:
    data, settled = settle(value, annotation)
    again = decode(data, annotation)
    for back in (settled, again):
        assert same(value, back)
    assert encode(again, annotation) == data
    json.loads(data[1:])  # embedded as it is in JSON
    return data


@each_case
@pytest.mark.rule("S12", "D3")
def test_a_value_comes_back_by_its_annotation(case: Case) -> None:
    data = assert_round_trip(case.value, case.annotation)

    assert {"t": "typed", "g": "tagged"}[chr(data[0])] == case.form


@each_case
@pytest.mark.rule("S12", "D3")
def test_a_value_comes_back_without_annotation(case: Case) -> None:
    data = assert_round_trip(case.value, Any)

    assert data[:1] == b"g"


@each_case
@pytest.mark.rule("S12")
def test_a_value_comes_back_from_inside_others(case: Case) -> None:
    assert_round_trip({"x": [case.value], (1, 2): case.value}, Any)
    assert_round_trip(cases.Box(case.value), cases.Box[case.annotation])


@each_case
@pytest.mark.rule("D3")
def test_what_is_settled_is_no_part_of_the_input(case: Case) -> None:
    _, settled = settle(case.value, case.annotation)
    _, untyped = settle(case.value)

    mine = {id(part) for part in mutable_parts(case.value)}
    assert not [part for part in itertools.chain(mutable_parts(settled), mutable_parts(untyped)) if id(part) in mine]


def mutable_parts(value: Any) -> list[Any]:
    """The lists, dicts, sets and objects with attributes in a value; all are kept alive with it."""
    match value:
        case dict():
            inner = [*value.keys(), *value.values()]
        case list() | tuple() | set() | frozenset():
            inner = list(value)
        case cases.enum.Enum() | tzinfo():
            return []
        case _ if hasattr(value, "__dict__"):
            inner = list(vars(value).values())
        case _:
            return []
    own = [] if isinstance(value, (tuple, frozenset)) else [value]
    return own + [part for item in inner for part in mutable_parts(item)]


@pytest.mark.rule("S12")
def test_the_typed_form_is_plain_json() -> None:
    assert encode(cases.Line("a", 1, Decimal("1.50")), cases.Line) == b't{"sku":"a","quantity":1,"price":"1.50"}'


@pytest.mark.rule("S12")
def test_the_tagged_form_is_plain_json_where_json_has_the_type() -> None:
    assert encode({"a": [1, 2.5, None, True, "x"]}) == b'g{"a":[1,2.5,null,true,"x"]}'


@pytest.mark.rule("S12")
def test_a_tag_names_what_json_lacks() -> None:
    assert encode([Decimal("1.50"), {3, 1}, cases.Frozen(1), cases.Level.LOW]) == (
        b'g[{"~":"decimal","value":"1.50"},{"~":"set","value":[1,3]},'
        b'{"~":"object","class":"tests.codec.values:Frozen","value":{"x":1,"y":1.0}},'
        b'{"~":"enum","class":"tests.codec.values:Level","value":1}]'
    )


@pytest.mark.rule("S12")
def test_one_object_in_two_places_comes_back_as_two() -> None:
    line = cases.Line("a", 1, Decimal(1))

    _, [one, other] = settle([line, line])

    assert (one, other) == (line, line)
    assert one is not other


@pytest.mark.rule("S12")
def test_a_foreign_time_zone_is_kept_as_its_offset() -> None:
    class Pacific(tzinfo):
        def utcoffset(self, _: datetime | None) -> timedelta:
            return timedelta(hours=-8)

    for annotation in (datetime, Any):
        _, settled = settle(datetime(2026, 1, 1, tzinfo=Pacific()), annotation)
        assert same(settled, datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-8))))


@pytest.mark.rule("S12")
def test_a_cached_property_is_not_stored() -> None:
    _, settled = settle(INDEXED)

    assert vars(settled) == {"names": ["a", "b"], "index": {"a": 0, "b": 1}}


@pytest.mark.rule("S12")
def test_a_field_left_to_its_class_is_stored_with_its_value() -> None:
    assert encode(cases.Defaulted(1), cases.Defaulted) == b't{"x":1,"state":"new"}'


@pytest.mark.rule("S12")
def test_a_class_of_a_function_is_stored_by_its_annotation() -> None:
    from dataclasses import make_dataclass

    local = make_dataclass("local", [("x", int)])

    assert decode(encode(local(1), local), local) == local(1)


@pytest.mark.rule("S12")
@pytest.mark.parametrize("annotation", [cases.Site, Any])
def test_types_that_only_pydantic_knows_are_stored_by_its_own_serialisers(annotation: Any) -> None:
    site = cases.Site(url="https://example.com/a")

    data, settled = settle({"site": site, "tags": {1}}, dict[str, annotation])

    assert settled == {"site": site, "tags": {1}}
    assert settled["site"].model_fields_set == {"url"}
    assert encode(settled) == data
