"""Frozen functions keep the variables that they saw."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from durable.usercode.freeze import freeze

pytestmark = pytest.mark.rule("D13")


def test_each_function_of_a_loop_keeps_its_own_item() -> None:
    frozen = []
    for item in "abc":
        frozen.append(freeze(lambda: item))

    assert [function() for function in frozen] == ["a", "b", "c"]


def test_an_object_that_is_held_is_not_copied() -> None:
    released: list[str] = []
    item = "a"
    release = freeze(lambda: released.append(item))
    item = "b"

    release()

    assert released == ["a"]
    assert item == "b"


def test_a_variable_that_has_no_value_yet_stays_live() -> None:
    def outer() -> Callable[[], str]:
        frozen = freeze(lambda: later)
        later = "set afterwards"
        return frozen

    assert outer()() == "set afterwards"


def test_an_outer_variable_that_is_assigned_is_meant_to_be_shared() -> None:
    released: list[str] = []
    frozen = []
    count = 0
    for item in "abc":

        def release() -> None:
            nonlocal count
            count += 1
            released.append(item)

        frozen.append(freeze(release))

    for function in frozen:
        function()

    assert (count, released) == (3, ["a", "b", "c"])


def test_so_is_one_that_an_inner_function_assigns() -> None:
    count = 0

    def increase() -> None:
        def once() -> None:
            nonlocal count
            count += 1

        once()

    freeze(increase)()

    assert count == 1


def test_variables_of_its_own_that_inner_functions_see_do_not_count_as_shared() -> None:
    frozen = []
    for item in "abc":

        def undo() -> list[str]:
            suffix = "!"
            return [*(letter + suffix for letter in item)]

        frozen.append(freeze(undo))

    assert [function() for function in frozen] == [["a!"], ["b!"], ["c!"]]


def test_functions_of_very_many_variables_are_understood() -> None:
    names = [f"v{number}" for number in range(300)]
    source = "\n".join(
        [
            "def make(shared, item):",
            "    def undo():",
            "        nonlocal shared",
            *(f"        {name} = lambda: {name}" for name in names),
            "        shared = item",
            "        return item",
            "    return undo, lambda: shared",
        ]
    )
    scope: dict[str, Any] = {}
    exec(source, scope)

    undo, shared = scope["make"]("before", "item")

    assert (freeze(undo)(), shared()) == ("item", "item")


def test_signature_defaults_and_annotations_are_kept() -> None:
    item = "a"

    def undo(first: str, second: int = 2, *, third: bool = True) -> str:
        """What it says."""
        return f"{item}{first}{second}{third}"

    frozen: Any = freeze(undo)
    item = "b"

    assert frozen("x") == "ax2True"
    assert (frozen.__name__, frozen.__qualname__, frozen.__annotations__) == (
        undo.__name__,
        undo.__qualname__,
        undo.__annotations__,
    )
    assert inspect.signature(frozen) == inspect.signature(undo)


@pytest.mark.parametrize("function", [print, partial(print, "a"), "abc".upper, lambda: None])
def test_what_closes_over_nothing_is_left_alone(function: Callable[..., Any]) -> None:
    assert freeze(function) is function
