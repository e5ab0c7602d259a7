"""The view for people, and the fingerprint of arguments."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections import OrderedDict
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from durable.codec import fingerprint, plain
from tests.codec import values as cases

ID = UUID("12345678-1234-5678-1234-567812345678")


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "view"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (2.5, 2.5),
        ("ä", "ä"),
        ("a\ud800", "a?"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (b"\xff\x00", "/wA="),
        (Decimal("1.50"), "1.50"),
        (ID, str(ID)),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (time(1, 2), "01:02:00"),
        (timedelta(hours=1), "PT3600S"),
        (cases.Color.RED, "red"),
        (cases.Level.LOW, 1),
        (cases.Mixed.PAIR, [1, 2]),
        ((1, b"a"), [1, "YQ=="]),
        ({10, 9, "a"}, [9, 10, "a"]),
        ({"a": {1: "b"}}, {"a": {"1": "b"}}),
        ({(1, 2): 1, None: 2, True: 3, ID: 4}, {"[1,2]": 1, "null": 2, "true": 3, str(ID): 4}),
        ({1: "int", "1": "str"}, [[1, "int"], ["1", "str"]]),
        (OrderedDict(a=1), {"a": 1}),
        (cases.Line("a", 1, Decimal("1.5")), {"sku": "a", "quantity": 1, "price": "1.5"}),
        (cases.Point(1, 2), {"x": 1, "y": 2}),
        (cases.Shape(3), {"sides": 3, "name": "shape"}),
        (cases.Customer(id=1), {"id": 1, "name": "anonymous", "balance": "0.00", "joined": None}),
        (cases.Secret(password="p"), {"password": "SecretStr('**********')"}),
        (cases.Holder(len), {"held": "<built-in function len>"}),
        (ValueError("no"), "ValueError('no')"),
        (Silent(), "<Silent>"),
        ([Silent()], ["<Silent>"]),
    ],
)
def test_a_view_is_good_to_read(value: Any, view: Any) -> None:
    assert plain(value) == view
    json.dumps(plain(value), allow_nan=False).encode()


def test_a_view_of_what_contains_itself_ends() -> None:
    node = cases.Node(1)
    node.next = node
    items: list[Any] = []
    items.append(items)

    for value in (node, items):
        json.dumps(plain(value))


# --- fingerprints ---------------------------------------------------------------------------------------------------


@pytest.mark.rule("D6")
def test_a_fingerprint_is_sixteen_hexadecimal_characters() -> None:
    mark = fingerprint([1, "a"])

    assert mark is not None
    assert len(mark) == 16
    assert int(mark, 16)


@pytest.mark.rule("D6")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1], [True]),
        ([1], [1.0]),
        ([1], ["1"]),
        ([0.0], [-0.0]),
        ([Decimal("1.0")], [Decimal("1.00")]),
        ([[1]], [(1,)]),
        ([{1: 2}], [{"1": 2}]),
        ([{1}], [frozenset({1})]),
        ([1, 2], [[1, 2]]),
        ([cases.Color.RED], ["red"]),
        ([cases.Line("a", 1, Decimal(1))], [cases.Line("a", 2, Decimal(1))]),
        ([], [None]),
    ],
)
def test_different_arguments_have_different_fingerprints(one: list[Any], other: list[Any]) -> None:
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.rule("D6")
def test_the_order_of_a_dict_does_not_matter() -> None:
    assert fingerprint([{"a": 1, "b": {1: 2, (3,): 4}}]) == fingerprint([{"b": {(3,): 4, 1: 2}, "a": 1}])


@pytest.mark.rule("D6")
@pytest.mark.parametrize("value", [len, object(), threading.Lock(), "\ud800"])
def test_arguments_that_cannot_be_stored_have_none(value: Any) -> None:
    assert fingerprint([1, [value]]) is None


@pytest.mark.rule("D6")
def test_arguments_that_contain_themselves_have_none() -> None:
    items: list[Any] = []
    items.append(items)

    assert fingerprint(items) is None


HASHED = """
from tests.codec import values as cases
from durable.codec import encode, fingerprint
names = {"ant", "bee", "cat", "dog", "eel", "fox"}
value = [names, frozenset(names), {name: {name, 1} for name in names}, {(name, 1): 2 for name in names},
         cases.Holder(names), {cases.Color.RED, cases.Color.BLUE}]
print(fingerprint(value), encode(names), encode(names, set[str]), encode([names, cases.Holder(names)]))
"""


@pytest.mark.rule("D6")
def test_nothing_depends_on_the_order_of_hashes() -> None:
    def run(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", HASHED]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout

    first, second, third = (run(seed) for seed in ("0", "1", "2"))

    assert first == second == third
    assert "None" not in first


def test_the_codec_loads_nothing_that_few_values_need() -> None:
    command = "import sys, durable.codec; print([m for m in ('zoneinfo', 'pydantic', 'asyncio') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True)

    assert ran.stdout == "[]\n"
