"""Input is held to its annotation, and a misfit names its field (E10)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from inspect import Parameter
from typing import Annotated, Any, NewType, Protocol, TypeVar
from uuid import UUID

import msgspec
import pytest

from durable.codec import accept, check, decode, encode
from durable.errors import CodecError, InvalidInput
from tests.codec import values as cases

ID = UUID("12345678-1234-5678-1234-567812345678")
LINE = {"sku": "a", "quantity": 2, "price": "1.50"}
ORDER = {"id": str(ID), "lines": [LINE], "placed": "2026-01-02T03:04:05Z"}
PLACED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
Price = NewType("Price", Decimal)
T = TypeVar("T")


@dataclass
class Shipment:
    customer: cases.Customer
    count: Annotated[int, msgspec.Meta(ge=1)] = 1


class Stubborn:
    pass


@dataclass
class Guarded:
    x: int

    def __post_init__(self) -> None:
        if self.x < 0:
            raise KeyError("x")


ACCEPTED: list[tuple[Any, Any, Any]] = [
    ({"a": [1, 2.5, None]}, Any, {"a": [1, 2.5, None]}),
    ({"a": 1}, Parameter.empty, {"a": 1}),
    (2**80, Any, 2**80),
    (None, None, None),
    (3, int, 3),
    (3, float, 3.0),
    ("1.50", Decimal, Decimal("1.50")),
    ("/wA=", bytes, b"\xff\x00"),
    (ORDER, cases.Order, cases.Order(ID, [cases.Line("a", 2, Decimal("1.50"))], PLACED)),
    ({"1": "a"}, dict[int, str], {1: "a"}),
    ([1, "a"], tuple[int, str], (1, "a")),
    ("red", cases.Color, cases.Color.RED),
    ([1, 2], cases.Point, cases.Point(1, 2)),
    ({"limit": 1}, cases.Options, {"limit": 1}),
    ("card", cases.Choice, "card"),
    ("a", int | str | None, "a"),
    ({"item": 1}, cases.Box[int], cases.Box(1)),
    ({"sides": 3}, cases.Shape, cases.Shape(3)),
    ({"id": 1, "balance": "2.50"}, cases.Customer, cases.Customer(id=1, balance=Decimal("2.50"))),
    ([{"id": 1}], list[cases.Customer], [cases.Customer(id=1)]),
    ({"customer": {"id": 1}}, Shipment, Shipment(cases.Customer(id=1))),
    (None, cases.Customer | None, None),
    ({"url": "https://example.com"}, cases.Site, cases.Site(url="https://example.com")),
    ({"unitPrice": "1.50"}, cases.Aliased, cases.Aliased(unitPrice=Decimal("1.50"))),
    (3, Annotated[int, msgspec.Meta(extra={"unhashable": []})], 3),
]

REFUSED: list[tuple[Any, Any, str, str]] = [
    ("3", int, "$", "Expected `int`, got `str`"),
    (3.5, int, "$", "Expected `int`, got `float`"),
    (True, int, "$", "Expected `int`, got `bool`"),
    (None, cases.Order, "$", "Expected `object`, got `null`"),
    (
        {**ORDER, "lines": [LINE, {**LINE, "quantity": "2"}]},
        cases.Order,
        "$.lines[1].quantity",
        "Expected `int`, got `str`",
    ),
    ({"sku": "a", "price": "1"}, cases.Line, "$.quantity", "missing required field `quantity`"),
    ([{"sku": "a", "price": "1"}], list[cases.Line], "$[0].quantity", "missing required field `quantity`"),
    ({**LINE, "price": "cheap"}, cases.Line, "$.price", "decimal"),
    ("green", cases.Color, "$", "Invalid enum value 'green'"),
    ("cheque", cases.Choice, "$", "Invalid enum value 'cheque'"),
    ({"customer": {"id": 1}, "count": 0}, Shipment, "$.count", "Expected `int` >= 1"),
    ({"id": "1"}, cases.Customer, "$.id", "Input should be a valid integer"),
    ({}, cases.Customer, "$.id", "Field required"),
    ({"customer": {"id": 1, "name": 3}}, Shipment, "$.customer.name", "Input should be a valid string"),
    ({"owner": {"id": 1}, "lines": [LINE, 3]}, cases.Account, "$.lines[1]", "Input should be"),
    ({"x": -1}, Guarded, "$", "KeyError: 'x'"),
]


def both_ways(data: Any) -> list[Any]:
    return [json.dumps(data).encode(), data]


@pytest.mark.rule("E10")
@pytest.mark.parametrize(("data", "annotation", "value"), ACCEPTED)
def test_input_becomes_a_value_of_the_annotation(data: Any, annotation: Any, value: Any) -> None:
    for given in both_ways(data):
        accepted = accept(given, annotation)
        assert accepted == value
        assert type(accepted) is type(value)


@pytest.mark.rule("E10")
@pytest.mark.parametrize(("data", "annotation", "path", "message"), REFUSED)
def test_a_misfit_names_its_field(data: Any, annotation: Any, path: str, message: str) -> None:
    for given in both_ways(data):
        with pytest.raises(InvalidInput) as caught:
            accept(given, annotation)
        assert caught.value.path == path
        assert message.replace("null", "null" if isinstance(given, bytes) else "None") in str(caught.value) or (
            message in str(caught.value)
        )


@pytest.mark.rule("E10")
@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"1 2", b"nan", b'"\\ud800"', b"[" * 100_000])
@pytest.mark.parametrize("annotation", [Any, cases.Order, list[Any]])
def test_what_is_not_json_is_refused(data: bytes, annotation: Any) -> None:
    with pytest.raises(InvalidInput):
        accept(data, annotation)


@pytest.mark.rule("E10")
@pytest.mark.parametrize(
    "annotation",
    [
        cases.Mixed,
        Stubborn,
        list[Stubborn],
        Callable[[], int],
        "Order",
        cases.Order | Stubborn,
        dict[str, Stubborn | int],
    ],
)
def test_an_annotation_that_no_json_can_be_read_by_is_a_codec_error(annotation: Any) -> None:
    for given in both_ways([{"id": str(ID)}] if "list" in str(annotation) else {"id": str(ID)}):
        with pytest.raises(CodecError, match="no input can be read as"):
            accept(given, annotation)


@pytest.mark.rule("E10", "S12")
def test_defaults_that_an_input_took_are_stored_with_it() -> None:
    accepted = accept({"id": str(ID), "lines": [], "placed": "2026-01-02T03:04:05Z"}, cases.Order)

    data = encode(accepted, cases.Order)

    assert data == b't{"id":"%s","lines":[],"placed":"2026-01-02T03:04:05Z","note":null,"labels":{}}' % str(ID).encode()
    assert encode(decode(data, cases.Order), cases.Order) == data


# --- check ----------------------------------------------------------------------------------------------------------


class Priced(Protocol):
    price: Decimal


def an_order(**changes: Any) -> cases.Order:
    return cases.Order(**{"id": ID, "lines": [], "placed": PLACED, **changes})


@dataclass
class Sloppy:
    limit: int = None


FITTING: list[tuple[Any, Any]] = [
    (len, Any),
    (len, Parameter.empty),
    (len, object),
    (len, T),
    (len, "Order"),
    (len, Callable[[], int]),
    (len, Priced),
    (None, None),
    (3, int),
    (True, int),
    (3, float),
    (an_order(), cases.Order),
    (cases.LoggedOrder(ID, [], PLACED), cases.Order),
    (an_order(lines=[cases.GiftLine("a", 1, Decimal(1))]), cases.Order),
    ([1, 2], list[int]),
    ([1, 2], list),
    ((1, 2), Sequence[int]),
    ({1: 2}, Mapping[int, int]),
    ("ab", Sequence[str]),
    ([1], Iterable[int]),
    ((1, "a"), tuple[int, str]),
    ((1, 2, 3), tuple[int, ...]),
    ({1}, set[int]),
    ({"a": [1]}, dict[str, list[int]]),
    (None, cases.Order | None),
    ("a", int | str),
    (cases.Refund(ID, Decimal(1)), cases.Order | cases.Refund),
    ("card", cases.Choice),
    (cases.Color.RED, cases.Color),
    ({"limit": 1}, cases.Options),
    (cases.Box(1), cases.Box[int]),
    (cases.Point(1), cases.Point),
    (cases.Customer(id=1), cases.Customer),
    (cases.Shape(3), cases.Shape),
    (Decimal(1), Price),
    (3, Annotated[int, "metres"]),
    (cases.Node(1, cases.Node(2)), cases.Node),
    (Sloppy(), Sloppy),
]

MISFITS: list[tuple[Any, Any, str, str]] = [
    (3, cases.Order, "$", "Expected `Order`, got `int`"),
    (None, cases.Order, "$", "Expected `Order`, got `NoneType`"),
    ({"sku": "a"}, cases.Line, "$", "Expected `Line`, got `dict`"),
    ([1, "2"], list[int], "$[1]", "Expected `int`, got `str`"),
    ((1,), list[int], "$", "Expected `list[int]`, got `tuple`"),
    ("3", int, "$", "Expected `int`, got `str`"),
    (3, None, "$", "Expected `NoneType`, got `int`"),
    (3.5, int, "$", "Expected `int`, got `float`"),
    ({"a": {"b": "c"}}, dict[str, dict[str, int]], "$.a.b", "Expected `int`, got `str`"),
    ({1: 2}, dict[str, int], "$[1]", "Expected `str`, got `int`"),
    ({"a"}, set[int], "$[...]", "Expected `int`, got `str`"),
    ((1, 2), tuple[int, str], "$[1]", "Expected `str`, got `int`"),
    ((1,), tuple[int, str], "$", "Expected a tuple of 2, got one of 1"),
    (an_order(lines=[3]), cases.Order, "$.lines[0]", "Expected `Line`, got `int`"),
    (
        an_order(lines=[cases.Line("a", "2", Decimal(1))]),
        cases.Order,
        "$.lines[0].quantity",
        "Expected `int`, got `str`",
    ),
    (an_order(lines=[3]), cases.Order | None, "$.lines[0]", "Expected `Line`, got `int`"),
    (3, cases.Order | None, "$", "got `int`"),
    ("cheque", cases.Choice, "$", "got 'cheque'"),
    (True, cases.Choice, "$", "got True"),
    ("red", cases.Color, "$", "Expected `Color`, got `str`"),
    ({"limit": "1"}, cases.Options, "$.limit", "Expected `int`, got `str`"),
    ([], cases.Options, "$", "got `list`"),
    (cases.Box("a"), cases.Box[int], "$.item", "Expected `int`, got `str`"),
    (cases.Point(1, "a"), cases.Point, "$.y", "Expected `int`, got `str`"),
    ({"id": 1}, cases.Customer, "$", "Expected `Customer`, got `dict`"),
    ("1", Price, "$", "Expected `Decimal`, got `str`"),
]


@pytest.mark.rule("E10")
@pytest.mark.parametrize(("value", "annotation"), FITTING)
def test_a_value_of_the_annotation_fits(value: Any, annotation: Any) -> None:
    check(value, annotation)


@pytest.mark.rule("E10")
@pytest.mark.parametrize(("value", "annotation", "path", "message"), MISFITS)
def test_the_first_misfit_is_named(value: Any, annotation: Any, path: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check(value, annotation)

    assert caught.value.path == path
    assert message in str(caught.value)
    assert str(caught.value).endswith(f" - at `{path}`")


@pytest.mark.rule("E10")
def test_a_value_that_contains_itself_is_refused() -> None:
    node = cases.Node(1)
    node.next = node

    with pytest.raises(InvalidInput, match="contains itself"):
        check(node, cases.Node)
