"""Executions wait for months: what was stored stays readable while the classes change."""

from __future__ import annotations

import enum
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from types import ModuleType
from typing import Any, NamedTuple

import msgspec
import pydantic
import pytest

from durable.codec import decode, encode
from durable.errors import CodecError

Deploy = Callable[..., Any]


@pytest.fixture
def deploy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deploy]:
    """Puts a class at the module level of `shop`, in the place of any that is there under that name."""
    shop = ModuleType("shop")
    shop.Decimal = Decimal  # its annotations name it
    monkeypatch.setitem(sys.modules, "shop", shop)

    def put(cls: Any, name: str = "") -> Any:
        cls.__module__ = "shop"
        cls.__name__ = cls.__qualname__ = name or cls.__name__
        setattr(shop, cls.__name__, cls)
        return cls

    yield put


@dataclass
class DataV1:
    sku: str
    gone: int = 1


@dataclass
class DataV2:
    sku: str
    price: Decimal = Decimal("1.00")
    tags: list[str] = field(default_factory=list)


class TupleV1(NamedTuple):
    sku: str


class TupleV2(NamedTuple):
    sku: str
    price: Decimal = Decimal("1.00")
    tags: tuple[str, ...] = ()


class ModelV1(pydantic.BaseModel):
    sku: str
    gone: int = 1


class ModelV2(pydantic.BaseModel):
    sku: str
    price: Decimal = Decimal("1.00")
    tags: list[str] = []
    seen: list[str] = pydantic.Field(default_factory=list)


class StructV1(msgspec.Struct):
    sku: str
    gone: int = 1


class StructV2(msgspec.Struct):
    sku: str
    price: Decimal = Decimal("1.00")
    tags: list[str] = []


@dataclass
class Demanding:
    sku: str
    price: Decimal


each_pair = pytest.mark.parametrize(
    ("old", "new"),
    [(DataV1, DataV2), (TupleV1, TupleV2), (ModelV1, ModelV2), (StructV1, StructV2), (DataV1, ModelV2)],
)


@each_pair
@pytest.mark.rule("S12")
def test_new_fields_take_their_defaults_and_lost_ones_are_dropped(deploy: Deploy, old: Any, new: Any) -> None:
    if old is DataV1 and new is ModelV2:  # a dataclass that became a model
        new = type("ModelV2", (ModelV2,), {})
    stored = deploy(old, "Order")(sku="a")
    tagged, typed = encode(stored), encode(stored, old)

    order = deploy(new, "Order")(sku="a")

    assert (tagged[:1], typed[:1]) == (b"g", b"t")
    for back in (decode(tagged), decode(typed, new)):
        assert back == order
        assert type(back) is new


@pytest.mark.rule("S12")
def test_a_new_field_without_default_is_named(deploy: Deploy) -> None:
    stored = deploy(DataV1, "Order")(sku="a")
    tagged, typed = encode([stored]), encode([stored], list[DataV1])

    deploy(Demanding, "Order")

    with pytest.raises(CodecError, match=r"\$\[0\] was stored before Order had the field 'price'. Give that field"):
        decode(tagged)
    with pytest.raises(CodecError, match="missing required field `price`") as caught:
        decode(typed, list[Demanding])
    assert caught.value.path == "$[0].price"


@pytest.mark.rule("S12")
def test_a_default_that_was_changed_leaves_what_was_stored(deploy: Deploy) -> None:
    stored = deploy(type("Order", (ModelV1,), {}))(sku="a")
    tagged, typed = encode(stored), encode(stored, type(stored))

    changed = deploy(pydantic.create_model("Order", sku=(str, ...), gone=(int, 2)))

    for back in (decode(tagged), decode(typed, changed)):
        assert back.gone == 1
        assert back.model_fields_set == {"sku"}


@pytest.mark.rule("S12")
def test_a_class_that_was_renamed_is_read_by_the_annotation(deploy: Deploy) -> None:
    old, new = deploy(type("Order", (DataV1,), {})), deploy(type("Purchase", (DataV1,), {}))

    data = encode([old("a")], list[old])
    del sys.modules["shop"].Order

    assert decode(data, list[new]) == [new("a")]


@pytest.mark.rule("S12")
def test_a_tagged_class_that_was_renamed_needs_an_alias(deploy: Deploy) -> None:
    data = encode(deploy(type("Order", (DataV1,), {}))("a"))
    purchase = deploy(type("Purchase", (DataV1,), {}))
    shop = sys.modules["shop"]
    del shop.Order

    with pytest.raises(CodecError, match="leave an alias under its old name"):
        decode(data)
    shop.Order = purchase
    assert decode(data) == purchase("a")


@pytest.mark.rule("S12")
def test_an_enum_keeps_its_members_by_value(deploy: Deploy) -> None:
    old = deploy(enum.Enum("Color", {"RED": "red"}))
    tagged, typed = encode(old.RED), encode(old.RED, old)

    new = deploy(enum.Enum("Color", {"BLUE": "blue", "CRIMSON": "red"}))

    assert decode(tagged) is new.CRIMSON
    assert decode(typed, new) is new.CRIMSON


@dataclass
class Charge:
    id: str


@dataclass
class Refund:
    id: str
    reason: str = ""


@pytest.mark.rule("S12")
def test_an_annotation_that_became_a_union_still_reads_what_was_typed() -> None:
    assert decode(encode(Charge("a"), Charge), Refund | Charge) == Charge("a")
    assert decode(encode(Refund("a"), Refund), Charge | Refund) == Refund("a")
    assert decode(encode(Charge("a"), Charge), Charge | None) == Charge("a")
    assert decode(b't{"id":"a","old":1}', Charge | Refund) == Charge("a")


@pytest.mark.rule("S12")
def test_an_annotation_that_gained_or_lost_a_type_of_what_it_holds_is_honoured() -> None:
    assert decode(encode([1], list[int]), list[float]) == [1.0]
    assert decode(encode([1], list[int]), list) == [1]
    assert decode(encode({"a": 1}, dict[str, int]), dict[str, Any]) == {"a": 1}


@pytest.mark.rule("S12")
def test_tagged_bytes_need_no_annotation_and_heed_none() -> None:
    assert decode(encode(Charge("a")), int) == Charge("a")


@pytest.mark.rule("S12")
def test_typed_bytes_without_annotation_give_their_plain_json() -> None:
    assert decode(encode(Charge("a"), Charge)) == {"id": "a"}


MAIN = """
from dataclasses import dataclass
from durable.codec import decode, encode

@dataclass
class Order:
    id: int

print(encode(Order(1)).decode(), decode(encode(Order(1))))
"""


@pytest.mark.rule("S12")
def test_classes_of_a_script_are_found() -> None:
    ran = subprocess.run([sys.executable, "-c", MAIN], check=True, capture_output=True, text=True)

    assert ran.stdout == 'g{"~":"object","class":"__main__:Order","value":{"id":1}} Order(id=1)\n'
