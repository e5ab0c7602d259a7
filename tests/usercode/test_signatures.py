"""What functions say of their types, however they are wrapped, and whatever only a type checker could resolve."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, partial, wraps
from typing import Any

import pytest

from durable.api.actions import ActionFunction
from durable.errors import InvalidCall
from durable.usercode.freeze import freeze
from durable.usercode.signatures import check_call, parameter_types, result_type

FOR_TYPE_CHECKERS = """
def charge(step: Step, amount: int, currency: Currency = "EUR") -> str:
    return f"{amount} {currency}"

def refund(undo: Undo, amount: int) -> Receipt: ...

def outer(amount):
    def charge(step: Step, currency: Currency) -> str:
        return f"{amount} {currency}"
    return charge
"""
AS_TEXT = "from __future__ import annotations\n" + FOR_TYPE_CHECKERS
WRITTEN = {"text": AS_TEXT}
if sys.version_info >= (3, 14):  # before, such a module can't be imported
    WRITTEN["evaluated when they are read"] = FOR_TYPE_CHECKERS


@pytest.fixture(params=WRITTEN.values(), ids=WRITTEN)
def module(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The names of a module whose annotations name what is imported for type checkers alone."""
    names: dict[str, Any] = {}
    exec(compile(request.param, "module.py", "exec", dont_inherit=True), names)
    return names


def total(step: object, amount: int) -> list[int]:
    return [amount]


async def later(step: object) -> bytes:
    return b""


class Account:
    number: int = 1

    def close(self, step: object) -> bool:
        return True

    def __call__(self, step: object, amount: int) -> float:
        return 0.5


@wraps(total)
def traced(*arguments: Any) -> Any:
    return total(*arguments)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (total, list[int]),
        (later, bytes),
        (traced, list[int]),
        (lru_cache(total), list[int]),
        (partial(total, None), list[int]),
        (partial(partial(total), None), list[int]),
        (Account().close, bool),
        (Account(), float),
        (partial(Account(), None), float),
        (lambda step: 1, Any),
        (len, Any),
        (Account, Any),
    ],
    ids=[
        "function",
        "async function",
        "decorated",
        "cached",
        "partial",
        "partial of partial",
        "method",
        "object",
        "partial of object",
        "lambda",
        "built-in",
        "class",
    ],
)
def test_the_type_of_a_result_is_found_behind_whatever_wraps_the_function(
    function: Callable[..., Any], expected: Any
) -> None:
    assert result_type(function) == expected


def test_what_can_be_resolved_is_known_beside_what_only_a_type_checker_knows(module: dict[str, Any]) -> None:
    assert result_type(module["charge"]) is str
    assert parameter_types(module["charge"]) == [("step", Any), ("amount", int), ("currency", Any)]
    assert result_type(module["refund"]) is Any
    assert parameter_types(module["refund"]) == [("undo", Any), ("amount", int)]


def test_a_call_is_checked_whatever_the_annotations_name(module: dict[str, Any]) -> None:
    check_call(module["charge"], "Step", (5,), "step 'charge'")

    with pytest.raises(
        InvalidCall, match=r"charge\(step: 'Step', amount: 'int', .* can't be called with the Step and 3"
    ):
        check_call(module["charge"], "Step", (5, "EUR", None), "step 'charge'")


def test_an_action_takes_its_arguments_whatever_the_annotations_name(module: dict[str, Any]) -> None:
    charge = ActionFunction(module["charge"], "charge", read_only=False)

    assert charge.arguments({"amount": 5}) == ((5,), {})


def test_a_function_that_is_frozen_says_what_it_said(module: dict[str, Any]) -> None:
    frozen = freeze(module["outer"](5))

    assert frozen(None, "EUR") == "5 EUR"
    assert (frozen.__name__, frozen.__qualname__) == ("charge", "outer.<locals>.charge")
    assert result_type(frozen) is str
