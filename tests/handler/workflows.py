"""The workflows that these tests deploy."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from durable import Context, Step, TerminalError, Undo, workflow


@dataclass(frozen=True)
class Line:
    sku: str
    quantity: int


@dataclass(frozen=True)
class Order:
    lines: list[Line]
    total: Decimal = Decimal("0")


@dataclass
class Progress:
    seen: list[str] = field(default_factory=list)


def reserve(step: Step, order: Order) -> str:
    step.state.seen.append(order.lines[0].sku)
    return f"reserved {order.lines[0].quantity}"


def release(undo: Undo[str], order: Order) -> None:
    undo.state.seen.append("released")


def charge(step: Step, order: Order) -> str:
    if order.total < 0:
        raise TerminalError("the card was declined")
    return "4111 1111 1111 1111"


@workflow(state=Progress)
def checkout(ctx: Context[Progress], order: Order) -> dict[str, Decimal]:
    ctx.step("reserve", reserve, order, rollback=release)
    ctx.step("charge", charge, order, sensitive=True)
    ctx.sleep("cooling-off", 600)
    return {"total": order.total}


@workflow
def ping(ctx: Context) -> str:
    return "pong"


WORKFLOWS: list[Any] = [checkout, ping]
