"""What can't be stored, or read back, is a CodecError that says where, what and what to do."""

from __future__ import annotations

import enum
import io
import sys
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from durable.codec import decode, encode, settle
from durable.errors import CodecError
from tests.codec import values as cases


def circular_list() -> list[Any]:
    items: list[Any] = [1]
    items.append(items)
    return items


def circular_dict() -> dict[Any, Any]:
    items: dict[Any, Any] = {}
    items["again"] = {"inner": items, 1: 2}
    return items


def circular_node() -> cases.Node:
    node = cases.Node(1)
    node.next = node
    return node


def nested(levels: int) -> list[Any]:
    items: list[Any] = []
    for _ in range(levels):
        items = [items]
    return items


async def coroutine() -> None: ...


class Text(str):
    __slots__ = ()


class Plain:
    pass


@dataclass
class Listed(list):
    """A dataclass that holds more than its fields."""

    x: int = 1


@dataclass
class Broken(Exception):
    x: int = 1


UNSTORABLE: list[tuple[str, Callable[[], Any], str]] = [
    ("function", lambda: nested, "Return what it computes"),
    ("lambda", lambda: lambda: 1, "Return what it computes"),
    ("builtin", lambda: len, "Return what it computes"),
    ("method", lambda: [].append, "Return what it computes"),
    ("partial", lambda: partial(int, 1), "Return what it computes"),
    ("generator", lambda: (x for x in [1]), "Return list(...) of it"),
    ("iterator", lambda: iter([1]), "Return list(...) of it"),
    ("map", lambda: map(str, [1]), "Return list(...) of it"),
    ("file", io.BytesIO, "Read it in the body"),
    ("exception", lambda: ValueError("no"), "Raise it to fail the step, or return its message"),
    ("exception that is a dataclass", Broken, "Raise it to fail the step, or return its message"),
    ("class", lambda: cases.Order, "Return its name"),
    ("module", lambda: sys, "Return a dataclass, a dict, or an id"),
    ("lock", threading.Lock, "Return a dataclass, a dict, or an id"),
    ("object", Plain, "Return a dataclass, a dict, or an id"),
    ("path", lambda: Path("a"), "Return a dataclass, a dict, or an id"),
    ("deque", deque, "Return a dataclass, a dict, or an id"),
    ("bytearray", lambda: bytearray(b"a"), "Return bytes(...) of it"),
    ("defaultdict", lambda: defaultdict(list), "Return dict(...) of it"),
    ("ordered dict", OrderedDict, "Return dict(...) of it"),
    ("subclass of str", lambda: Text("a"), "Return str(...) of it"),
    ("dataclass that is a list", Listed, "Return list(...) of it"),
    ("lone surrogate", lambda: "a\ud800", "lone surrogate"),
    ("circular list", circular_list, "contains itself"),
    ("circular dict", circular_dict, "contains itself"),
    ("circular dataclass", circular_node, "contains itself"),
    ("nested too deep", lambda: nested(200), "nested more than 100 deep"),
    ("nested beyond any stack", lambda: nested(100_000), "nested more than 100 deep"),
    ("secret", lambda: cases.Secret(password="p"), "SecretStr"),
]

each_unstorable = pytest.mark.parametrize(
    ("make", "advice"), [pytest.param(make, advice, id=name) for name, make, advice in UNSTORABLE]
)


@each_unstorable
@pytest.mark.rule("S12")
def test_what_cannot_be_stored_is_named_with_its_place_and_what_to_do(make: Callable[[], Any], advice: str) -> None:
    value = {"items": [1, make()]}

    with pytest.raises(CodecError) as caught:
        settle(value)

    assert caught.value.path.startswith("$.items[1]")
    assert str(caught.value).startswith(caught.value.path)
    assert advice in str(caught.value)


@each_unstorable
@pytest.mark.rule("S12")
@pytest.mark.parametrize("annotation", [str, list[int], cases.Node, cases.Secret, dict[str, list[str]]])
def test_no_annotation_makes_it_storable(make: Callable[[], Any], advice: str, annotation: Any) -> None:
    with pytest.raises(CodecError):
        encode(make(), annotation)


@pytest.mark.rule("S12")
@pytest.mark.parametrize(
    ("value", "path"),
    [
        (len, "$"),
        ([[], [0, len]], "$[1][1]"),
        ((1, len), "$[1]"),
        ({len}, "$[...]"),
        ({"a": {"unit price": len}}, "$.a['unit price']"),
        ({(1, 2): len}, "$[(1, 2)]"),
        ({len: 1}, "$[<built-in function len>]"),
        ({"\ud800": 1}, "$['\\ud800']"),
        (cases.Box([cases.Holder(len)]), "$.item[0].held"),
        (cases.Point(1, len), "$.y"),
        (cases.Open(x=1, more=len), "$.more"),
        (cases.Shape(len), "$.sides"),
    ],
)
def test_the_path_leads_to_what_cannot_be_stored(value: Any, path: str) -> None:
    with pytest.raises(CodecError) as caught:
        encode(value)

    assert caught.value.path == path


@pytest.mark.rule("S12")
def test_the_path_of_a_circle_stays_readable() -> None:
    with pytest.raises(CodecError) as caught:
        encode(circular_node(), cases.Node)

    assert caught.value.path == "$" + 12 * ".next" + "…"


@pytest.mark.rule("S12")
def test_an_attribute_beside_the_fields_counts() -> None:
    holder = cases.Holder(1)
    holder.lock = threading.Lock()

    with pytest.raises(CodecError) as caught:
        encode(holder, cases.Holder)

    assert caught.value.path == "$.lock"


@pytest.mark.rule("S12")
@pytest.mark.parametrize("levels", [50, 99])
def test_what_is_nested_less_deep_is_stored(levels: int) -> None:
    assert settle(nested(levels))[1] == nested(levels)


@pytest.mark.rule("S12")
def test_a_long_chain_is_refused_at_one_length_with_and_without_annotation() -> None:
    def chain(length: int) -> cases.Node | None:
        node = None
        for value in range(length):
            node = cases.Node(value, node)
        return node

    for annotation in (cases.Node, Any):
        assert settle(chain(100), annotation)[1] == chain(100)
        with pytest.raises(CodecError):
            settle(chain(101), annotation)


@pytest.mark.rule("S12")
def test_a_class_of_a_function_has_to_move_or_be_annotated() -> None:
    @dataclass
    class Local:
        x: int

    class LocalColor(enum.Enum):
        RED = 1

    assert settle(Local(1), Local)[1] == Local(1)
    assert settle(LocalColor.RED, LocalColor)[1] is LocalColor.RED
    for value in (Local(1), LocalColor.RED):
        with pytest.raises(CodecError, match=r"\$\[0\] is of the class .*Move the class to module level") as caught:
            encode([value])
        assert caught.value.path == "$[0]"


@pytest.mark.rule("S12")
def test_a_class_that_hides_behind_another_name_is_refused() -> None:
    impostor = type("Order", (cases.Holder,), {"__module__": cases.__name__})

    with pytest.raises(CodecError, match="can't find it"):
        encode(impostor(1))


# --- reading back ---------------------------------------------------------------------------------------------------


def an_object(name: str, **values: Any) -> bytes:
    import json

    return b"g" + json.dumps([{"~": "object", "class": name, "value": values}]).encode()


@pytest.mark.rule("S12")
@pytest.mark.parametrize(
    "name",
    [
        "nowhere:Order",
        "tests.codec.values:Gone",
        "tests.codec.values:Outer",
        "tests.codec.values:Order.id",
        "tests.codec.values",
        "os:system",
        "builtins:eval",
        "builtins:dict",
        "subprocess:Popen",
        "threading:Thread",
        "",
    ],
)
def test_only_classes_that_hold_values_are_found(name: str) -> None:
    with pytest.raises(CodecError, match="which can't be found") as caught:
        decode(an_object(name, args=["true"]))

    assert caught.value.path == "$[0]"


@pytest.mark.rule("S12")
def test_reading_imports_nothing() -> None:
    assert "this" not in sys.modules

    with pytest.raises(CodecError, match="this is not loaded: import it where the workflow is"):
        decode(an_object("this:Zen"))
    assert "this" not in sys.modules


@pytest.mark.rule("S12")
def test_reading_asks_no_module_to_load_more(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    lazy = ModuleType("lazy")
    lazy.__getattr__ = asked.append
    monkeypatch.setitem(sys.modules, "lazy", lazy)

    with pytest.raises(CodecError):
        decode(an_object("lazy:Order"))

    assert asked == []


@pytest.mark.rule("S12")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x1",
        b"{}",
        b"g",
        b"g[1",
        b"t",
        b't{"sku":',
        b't{"sku":"a","quantity":"two","price":"1"}',
        b"tnull",
        b'g{"~":"rocket"}',
        b'g{"~":["list"]}',
        b'g{"~":null,"a":1}',
        b'g{"~":"decimal"}',
        b'g{"~":"decimal","value":"one"}',
        b'g{"~":"bytes","value":"?"}',
        b'g{"~":"datetime","value":"2026-01-01","zone":"Nowhere/Land"}',
        b'g{"~":"enum","class":"tests.codec.values:Color","value":"green"}',
        b'g{"~":"enum","class":"tests.codec.values:Order","value":1}',
        b'g{"~":"object","class":"tests.codec.values:Color","value":{}}',
        b'g{"~":"object","class":"tests.codec.values:Line","value":{"sku":"a"}}',
        b'g{"~":"set","value":[[]]}',
    ],
)
def test_what_cannot_be_read_is_a_codec_error(data: bytes) -> None:
    with pytest.raises(CodecError) as caught:
        decode(data, cases.Line)

    assert str(caught.value).startswith(caught.value.path)


@pytest.mark.rule("S12")
def test_a_misfit_of_typed_bytes_is_named_with_its_place() -> None:
    with pytest.raises(CodecError) as caught:
        decode(b't[{"sku":"a","quantity":"two","price":"1"}]', list[cases.Line])

    assert caught.value.path == "$[0].quantity"
    assert str(caught.value) == (
        "$[0].quantity can't be read back as list[tests.codec.values.Line]: Expected `int`, got `str`"
    )


@pytest.mark.rule("S12")
def test_a_misfit_inside_a_pydantic_model_is_named_with_its_place() -> None:
    with pytest.raises(CodecError) as caught:
        decode(b't{"owner":{"id":"x"},"lines":[]}', cases.Account)

    assert caught.value.path == "$.owner.id"


@pytest.mark.rule("S12")
def test_a_failing_post_init_falls_to_tags_and_not_to_the_caller() -> None:
    line = cases.Line("a", 1, Decimal(1))
    line.quantity = "two"

    data, settled = settle(line, cases.Line)

    assert data[:1] == b"g"
    assert settled == line
