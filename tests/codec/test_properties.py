"""Any nesting of storable values comes back, whatever it is made of."""

from __future__ import annotations

import json
from datetime import timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from durable.codec import decode, encode, fingerprint, plain, settle
from durable.codec.exact import same
from tests.codec import values as cases

OFFSETS = st.none() | st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
ZONES = OFFSETS | st.timezones()
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(["~", "value", "", "1"])
KEYS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | TEXT
    | st.binary(max_size=5)
    | st.decimals(allow_nan=False)
    | st.datetimes(timezones=OFFSETS)
    | st.dates()
    | st.timedeltas()
    | st.uuids()
    | st.sampled_from([*cases.Color, *cases.Level, *cases.Mixed, cases.Access(3)])
)
LEAVES = (
    KEYS | st.floats() | st.decimals() | st.datetimes(timezones=ZONES, allow_imaginary=True) | st.times(timezones=ZONES)
)
HASHABLE = st.recursive(KEYS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=4)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(TEXT, inner, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.sets(HASHABLE, max_size=4)
        | inner.map(cases.Box)
        | inner.map(cases.Holder)
        | st.builds(cases.Pair, inner, inner)
        | st.builds(cases.Open, x=st.integers(), more=inner)
    ),
    max_leaves=12,
)
LINES = st.builds(cases.Line, TEXT, st.integers(), st.decimals())
ORDERS = st.builds(
    cases.Order,
    st.uuids(),
    st.lists(LINES | st.builds(cases.GiftLine, TEXT, st.integers(), st.decimals(), TEXT), max_size=3),
    st.datetimes(timezones=ZONES),
    st.none() | TEXT,
    st.dictionaries(TEXT, TEXT, max_size=3),
)

modest = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)


@pytest.mark.rule("S12", "D3")
@modest
@given(VALUES)
def test_any_value_comes_back(value: Any) -> None:
    data, settled = settle(value)

    assert same(value, settled)
    assert same(value, decode(data))
    assert encode(settled) == data
    json.loads(data[1:])


@pytest.mark.rule("S12", "D3")
@modest
@given(ORDERS)
def test_any_order_comes_back_by_its_annotation(order: cases.Order) -> None:
    data, settled = settle(order, cases.Order)

    assert same(order, settled)
    assert same(order, decode(data, cases.Order))
    assert encode(settled, cases.Order) == data


@pytest.mark.rule("S12")
@modest
@given(VALUES, st.sampled_from([list[int], dict[str, float], cases.Box[str], str, int, float | None, set[str], tuple]))
def test_a_wrong_annotation_changes_nothing(value: Any, annotation: Any) -> None:
    data, settled = settle(value, annotation)

    assert same(value, settled)
    assert same(value, decode(data, annotation))


@pytest.mark.rule("D6")
@modest
@given(VALUES)
def test_equal_arguments_have_one_fingerprint(value: Any) -> None:
    assert fingerprint([value]) == fingerprint([settle(value)[1]])


@modest
@given(VALUES)
def test_any_value_has_a_view(value: Any) -> None:
    json.dumps(plain(value), allow_nan=False).encode()
