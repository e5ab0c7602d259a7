"""The annotations of a function are its own: behind decorators, beside functions that look the same, and of local classes."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial, wraps
from types import ModuleType
from typing import Any

import pytest

from durable import Break, Context, Continue
from durable.usercode.signatures import hints_of, loop_types, parameter_types, result_type

pytestmark = pytest.mark.rule("D3")

DECORATORS = """
from functools import wraps
class Receipt: "Of the decorators' module."
def traced(function):
    @wraps(function)
    def inner(*arguments, **named):
        return function(*arguments, **named)
    return inner
"""
SHOP = """
from __future__ import annotations
from dataclasses import dataclass
@dataclass
class Receipt:
    {field}: {kind}
def plain(step) -> Receipt:
    return Receipt(1)
"""


@pytest.fixture
def modules() -> Iterator[Callable[[str, str], ModuleType]]:
    """Makes modules of text."""
    made: list[str] = []

    def make(name: str, text: str) -> ModuleType:
        module = ModuleType(name)
        sys.modules[name] = module
        made.append(name)
        exec(compile(text, f"{name}.py", "exec", dont_inherit=True), module.__dict__)
        return module

    yield make
    for name in made:
        sys.modules.pop(name, None)


@pytest.fixture
def shops(modules: Callable[[str, str], ModuleType]) -> tuple[ModuleType, ModuleType, ModuleType]:
    """Two modules with a function and a class of one name each, and one of decorators."""
    return (
        modules("shop_one", SHOP.format(field="amount", kind="int")),
        modules("shop_two", SHOP.format(field="weight", kind="str")),
        modules("decorators", DECORATORS),
    )


def wrapped(traced: Callable[[Any], Any]) -> dict[str, Callable[[Any], Any]]:
    """Ways in which one function is behind another."""
    return {
        "decorated": traced,
        "decorated twice": lambda function: traced(traced(function)),
        "decorated by one of this module": decorated_here,
        "partial of decorated": lambda function: partial(traced(function), None),
        "decorated partial": lambda function: traced(partial(function, None)),
        "cached": lambda function: lru_cache(traced(function)),
        "method": lambda function: type("Shop", (), {"charge": traced(function)})().charge,
        "object": lambda function: type("Shop", (), {"__call__": traced(function)})(),
        "as it is": lambda function: function,
    }


def decorated_here(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def inner(*arguments: Any) -> Any:
        return function(*arguments)

    return inner


@pytest.mark.parametrize("way", list(wrapped(lambda function: function)))
def test_each_of_two_functions_behind_one_decorator_has_the_type_of_its_own_module(
    shops: tuple[ModuleType, ModuleType, ModuleType], way: str
) -> None:
    one, two, decorators = shops
    wrap = wrapped(decorators.traced)[way]

    assert result_type(wrap(one.plain)) is one.Receipt
    assert result_type(wrap(two.plain)) is two.Receipt
    assert result_type(wrap(one.plain)) is one.Receipt


def test_a_module_that_is_loaded_again_has_types_of_its_own(modules: Callable[[str, str], ModuleType]) -> None:
    old = modules("reloaded", SHOP.format(field="amount", kind="int"))
    new = modules("reloaded", SHOP.format(field="amount", kind="int"))

    assert result_type(old.plain) is old.Receipt
    assert result_type(new.plain) is new.Receipt


def test_local_classes_of_two_calls_are_two() -> None:
    def make() -> tuple[type, Callable[[Any], Any], Callable[[Any], Any]]:
        @dataclass
        class Local:
            amount: int

        def body(step: object) -> Local:
            return Local(1)

        def several(step: object, more: dict[str, Local]) -> list[Local | None]:
            return [Local(1)]

        return Local, body, several

    first, second = make(), make()

    assert (result_type(first[1]), result_type(second[1]), result_type(first[1])) == (first[0], second[0], first[0])
    assert result_type(first[2]) == list[first[0] | None]
    assert parameter_types(second[2]) == [("step", object), ("more", dict[str, second[0]])]


def test_an_awaitable_result_is_what_comes_of_it() -> None:
    def later(step: object) -> Awaitable[int]:
        raise NotImplementedError

    async def sooner(step: object) -> int:
        return 1

    assert (result_type(later), result_type(sooner)) == (int, int)


class Circular:
    """A callable that claims to wrap itself."""

    def __call__(self, step: object) -> int:
        return 1


def test_a_function_that_wraps_itself_has_no_end_and_is_no_hindrance() -> None:
    circular = Circular()
    circular.__wrapped__ = circular

    def loops(step: object) -> int:
        return 1

    loops.__wrapped__ = loops

    assert result_type(circular) is Any
    assert result_type(loops) in (int, Any)


# --- loops ------------------------------------------------------------------------------------------------------------


@dataclass
class Progress:
    done: int


Turn = Continue[Progress] | Break[str]


def both(ctx: Context, state: Progress) -> Continue[Progress] | Break[str]:
    return Break("")


def one_way(ctx: Context, state: Progress) -> Break[list[int]]:
    return Break([])


def by_result_alone(ctx, state) -> Turn:  # type: ignore[no-untyped-def]
    return Break("")


def several_ends(ctx: Context, state: int) -> Continue[int] | Break[int] | Break[str]:
    return Break(1)


def stateless(ctx: Context) -> Break[Progress] | None:
    return None


def bare(ctx: Context, state: list[int]) -> Continue | Break:
    return Break(1)


def silent(ctx, state):  # type: ignore[no-untyped-def]
    return Break(1)


def other(ctx: Context, state: int) -> Any:
    return Break(1)


class Loop:
    def body(self, ctx: Context, state: Progress) -> Continue[Progress] | Break[bytes]:
        return Break(b"")

    def __call__(self, ctx: Context, state: int) -> Break[None]:
        return Break(None)


def with_more(extra: str, ctx: Context, state: Progress) -> Break[int]:
    return Break(1)


@pytest.mark.parametrize(
    ("body", "types"),
    [
        (both, (Progress, str)),
        (decorated_here(both), (Progress, str)),
        (one_way, (Progress, list[int])),
        (by_result_alone, (Progress, str)),
        (several_ends, (int, int | str)),
        (stateless, (Any, Progress)),
        (bare, (list[int], Any)),
        (silent, (Any, Any)),
        (other, (int, Any)),
        (Loop().body, (Progress, bytes)),
        (Loop(), (int, type(None))),
        (partial(with_more, "x"), (Progress, int)),
        (lambda ctx, state: Break(1), (Any, Any)),
        (print, (Any, Any)),
        (None, (Any, Any)),
    ],
)
def test_a_loop_s_types_are_those_of_its_body(body: Any, types: tuple[Any, Any]) -> None:
    state, result = loop_types(body)
    assert (state, result) == (types[0], types[1] if types[1] is not type(None) else result)
    assert result in (types[1], None)


def test_a_loop_s_types_may_be_local_classes() -> None:
    @dataclass
    class Local:
        done: int

    def body(ctx: Context, state: Local) -> Continue[Local] | Break[Local]:
        return Continue(Local(state.done + 1))

    assert loop_types(body) == (Local, Local)


def test_hints_leave_out_what_only_a_type_checker_knows() -> None:
    def body(step: Unknown, amount: int) -> list[Unknown]:  # noqa: F821
        return []

    assert hints_of(body) == {"amount": int}
