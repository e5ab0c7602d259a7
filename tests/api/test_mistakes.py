"""Common mistakes are told where they are made, with what to do: those that need no execution."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest

from durable import Break, CodecError, Context, Continue, ErrorInfo, Failure, InvalidCall, Success, workflow
from durable.codec import encode


class Stamp(datetime):
    """As pandas, pendulum and freezegun have them."""


class Money(Decimal):
    """A number of the user's."""


@dataclass
class Order:
    id: str
    amount: float = 0.0


@workflow
def pay(ctx: Context, order: Order) -> str:
    return ctx.step("pay", lambda step: order.id)


@workflow
def ping(ctx: Context) -> str:
    return "pong"


@pytest.mark.rule("S12")
@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (bytearray(b"x"), "Return bytes(...) of it."),
        (memoryview(b"x"), "Return bytes(...) of it."),
        (Stamp(2030, 1, 1), "Return a plain datetime of it: datetime.fromisoformat(value.isoformat())."),
        (Money("1.5"), "Return Decimal(...) of it."),
        (MagicMock(), "Give the mock a return_value, or a plain object in its place."),
        (Mock(spec=Order), "Give the mock a return_value, or a plain object in its place."),
        (Success(1), "Return its .value."),
        (
            Failure("critical", "step", "pay", 1, ErrorInfo("E", "m")),
            "Return what you need of it, such as .error.message, or raise it with .value.",
        ),
        (Continue(1), "Return it from the body of ctx.loop."),
        (Break(1), "Return it from the body of ctx.loop."),
        (pay, "Return its .name."),
        ("a\ud800b", "replace what can't be encoded: text.encode(errors='replace').decode()."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_to_return_instead(value: Any, advice: str) -> None:
    with pytest.raises(CodecError) as raised:
        encode(value)

    assert str(raised.value).endswith(advice)


@pytest.mark.rule("S12")
def test_the_place_of_a_lone_surrogate_is_named() -> None:
    with pytest.raises(
        CodecError, match=r"^\$\.names\[1\] is text with a lone surrogate \(U\+D83D at 3\), which is not"
    ):
        encode({"names": ["good", "the\ud83d"]})


@pytest.mark.parametrize(
    ("given", "called"),
    [
        ((1,), pay),
        ((), pay),
        ((Order("a"),), pay),
        ((1, 2, 3), pay),
        ((1, Order("a")), pay),
        ((1,), ping),
        ((), ping),
    ],
)
def test_a_workflow_that_is_called_says_how_it_is_started(given: tuple[Any, ...], called: Any) -> None:
    with pytest.raises(InvalidCall) as raised:
        called(*given)

    start = f"client.start({called.name}{', ...' if called is pay else ''})"
    assert f"workflow '{called.name}' is started by a client: {start}" in str(raised.value)


async def later(ctx: Context) -> int:
    await asyncio.sleep(0)
    return 1


async def with_input(ctx: Context, more: int) -> int:
    return more


async def endless(ctx: Context) -> Any:
    yield 1


def generator(ctx: Context) -> Any:
    yield 1


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*arguments: Any) -> Any:
        return function(*arguments)

    return inner


class Callables:
    async def method(self, ctx: Context) -> int:
        return 1

    async def __call__(self, ctx: Context) -> int:
        return 1


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (later, "`async def`"),
        (logged(later), "`async def`"),
        (logged(logged(later)), "`async def`"),
        (functools.partial(with_input, more=1), "`async def`"),
        (functools.partial(logged(later)), "`async def`"),
        (logged(functools.partial(later)), "`async def`"),
        (Callables().method, "`async def`"),
        (Callables(), "`async def`"),
        (staticmethod(later), "`async def`"),
        (endless, "`async def`"),
        (logged(endless), "`async def`"),
        (generator, "a generator"),
        (logged(generator), "a generator"),
        (functools.partial(generator), "a generator"),
    ],
)
def test_a_workflow_that_is_no_plain_function_is_refused_whatever_is_around_it(function: Any, what: str) -> None:
    with pytest.raises(InvalidCall) as raised:
        workflow(name="bad")(function)

    assert f"is {what}" in str(raised.value)


@pytest.mark.parametrize("parameters", ["self, ctx", "self, ctx, order", "cls, ctx"])
def test_a_workflow_that_is_a_method_is_refused(parameters: str) -> None:
    names: dict[str, Any] = {"workflow": workflow}
    with pytest.raises(InvalidCall) as raised:
        exec(f"class Shop:\n    @workflow\n    def order({parameters}): ...", names)

    assert str(raised.value) == (
        "workflow 'Shop.order' is a method, and a workflow is started without an object of its class: make it a function of "
        "the module, or a @staticmethod below @workflow."
    )
