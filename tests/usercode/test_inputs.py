"""Input from outside: numbers have all their digits, and unions of classes are read by trying each."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec
import pydantic
import pytest

from durable import InvalidInput
from durable.codec import accept

pytestmark = pytest.mark.rule("E10")

LONG = "12345678901234567890.10"


@dataclass
class Card:
    number: str
    total: Decimal = Decimal(0)


@dataclass
class Transfer:
    iban: str
    total: Decimal = Decimal(0)


@dataclass
class Cash:
    kind: Literal["cash"]
    total: Decimal


@dataclass
class Voucher:
    kind: Literal["voucher"]
    total: Decimal


class Cheque(NamedTuple):
    bank: str
    total: Decimal = Decimal(0)


class Mixed(NamedTuple):
    bank: str
    payment: Card | Transfer | None = None


class Coin(TypedDict):
    coins: list[Decimal]


class Token(msgspec.Struct):
    token: str
    total: Decimal = Decimal(0)


class Account(pydantic.BaseModel):
    account: str
    total: Decimal = Decimal(0)
    share: float = 0.5


@dataclass
class Order:
    payment: Card | Transfer
    more: list[Card | Transfer | None] = field(default_factory=list)
    by_name: dict[str, Cash | Voucher] = field(default_factory=dict)
    pair: tuple[Card | Transfer, int] | None = None


Any_ = Card | Transfer | Cash | Voucher | Cheque | Coin | Token | Account | list[Card | Transfer] | int | str | None


@pytest.mark.parametrize(
    ("text", "annotation", "value"),
    [
        ('{"number": "4111"}', Card | Transfer, Card("4111")),
        ('{"iban": "AT1"}', Card | Transfer, Transfer("AT1")),
        ('{"kind": "voucher", "total": 1.50}', Cash | Voucher, Voucher("voucher", Decimal("1.50"))),
        (f'{{"number": "4111", "total": {LONG}}}', Card | Transfer, Card("4111", Decimal(LONG))),
        ("null", Card | Transfer | None, None),
        ("3", Card | Transfer | int | float, 3),
        ("3.5", Card | Transfer | int | float, 3.5),
        ('"x"', Any_, "x"),
        ('[{"number": "4111"}, {"iban": "AT1"}]', Any_, [Card("4111"), Transfer("AT1")]),
        ('["b", 1.10]', Cheque | Card, Cheque("b", Decimal("1.10"))),
        ('["b", {"number": "4"}]', Mixed, Mixed("b", Card("4"))),
        ('["b"]', Mixed, Mixed("b")),
        ('{"coins": [1.10]}', Any_, {"coins": [Decimal("1.10")]}),
        ('{"token": "t"}', Any_, Token("t")),
        ('{"account": "a", "total": 1}', Any_, Account(account="a", total=Decimal(1))),
        ('{"kind": "cash", "total": 1}', Any_, Cash("cash", Decimal(1))),
        ('{"number": "4111"}', Annotated[Card | Transfer, "of the customer"], Card("4111")),
        (
            f'{{"payment": {{"iban": "AT1", "total": {LONG}}}, "more": [null, {{"number": "4"}}], '
            '"by_name": {"x": {"kind": "cash", "total": 1}}, "pair": [{"number": "5"}, 6], "unknown": 1}',
            Order,
            Order(
                Transfer("AT1", Decimal(LONG)),
                [None, Card("4")],
                {"x": Cash("cash", Decimal(1))},
                (Card("5"), 6),
            ),
        ),
        ('{"payment": {"iban": "AT1"}}', Order | Card, Order(Transfer("AT1"))),
        ('[{"payment": {"iban": "AT1"}}]', tuple[Order, ...], (Order(Transfer("AT1")),)),
    ],
)
def test_a_union_of_classes_is_read_as_the_one_that_fits(text: str, annotation: Any, value: Any) -> None:
    for given in (text.encode(), msgspec.json.decode(text)):
        if LONG in text and not isinstance(given, bytes):
            continue  # its digits are lost already
        read = accept(given, annotation)
        assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "annotation", "path", "message"),
    [
        ('{"total": 1}', Card | Transfer, "$", "fits none of Card (Object missing required field `number`"),
        ('{"number": 4111}', Card | Transfer, "$.number", "Expected `str`, got `int`"),
        ('{"number": "4", "iban": "A"}', Card | Transfer, "$", "fits Card and Transfer alike: give them a field that"),
        ("3", Card | Transfer, "$", "fits none of Card (Expected `object`, got `int`)"),
        ('{"payment": {"iban": 1}}', Order, "$.payment.iban", "Expected `str`, got `int`"),
        ('{"payment": {"iban": "a"}, "more": [{"number": 3}]}', Order, "$.more[0].number", "Expected `str`"),
        ('{"more": []}', Order, "$.payment", "Object missing required field `payment`"),
        ('{"payment": {"iban": "a"}, "pair": [1]}', Order, "$.pair", "Expected `array` of length 2, got 1"),
        ("[", Card | Transfer, "$", "not JSON"),
        ("[]", Mixed, "$.bank", "Object missing required field `bank`"),
        ('["b", null, 3]', Mixed, "$", "Expected `array` of at most length 2, got 3"),
        ('{"kind": "cheque", "total": 1}', Cash | Voucher, "$", "fits none of Cash (Invalid enum value 'cheque'"),
    ],
)
def test_what_fits_none_or_several_names_the_field(text: str, annotation: Any, path: str, message: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        accept(text.encode(), annotation)

    assert message in str(raised.value)
    assert raised.value.path == path


# --- digits ---------------------------------------------------------------------------------------------------------


@dataclass
class Basket:
    account: Account
    extra: Any
    total: Decimal


@pytest.mark.parametrize(
    ("text", "annotation", "value"),
    [
        (LONG, Decimal, Decimal(LONG)),
        (f"[{LONG}, -{LONG}]", list[Decimal], [Decimal(LONG), -Decimal(LONG)]),
        (f'{{"account": "a", "total": {LONG}}}', Account, Account(account="a", total=Decimal(LONG))),
        (f'{{"account": "a", "total": -{LONG}}}', Account, Account(account="a", total=-Decimal(LONG))),
        (
            f'[{{"account": "a", "total": {LONG}}}]',
            list[Account],
            [Account(account="a", total=Decimal(LONG))],
        ),
        (
            f'{{"account": {{"account": "a", "total": {LONG}}}, "extra": {LONG}, "total": {LONG}}}',
            Basket,
            Basket(Account(account="a", total=Decimal(LONG)), float(LONG), Decimal(LONG)),
        ),
        (f'{{"account": "a", "share": 0.{"3" * 30}}}', Account, Account(account="a", share=1 / 3)),
        (f'{{"x": {LONG}}}', Any, {"x": float(LONG)}),
        ("12345678901234567890123", int, 12345678901234567890123),
    ],
)
def test_a_number_has_all_the_digits_that_its_type_can_hold(text: str, annotation: Any, value: Any) -> None:
    assert accept(text.encode(), annotation) == value
