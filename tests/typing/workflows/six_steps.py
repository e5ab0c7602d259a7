"""An order of six steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from durable import Context, Retry, Step, Undo, workflow


@dataclass
class Item:
    sku: str
    quantity: int


@dataclass
class Order:
    id: str
    customer: str
    items: list[Item]
    total: Decimal


@dataclass
class State:
    reserved: list[str] = field(default_factory=list[str])
    points: int = 0


@workflow(state=State)
def place_order(ctx: Context[State], order: Order) -> str:
    ctx.step("validate", validate, order)
    for item in order.items:
        ctx.step("reserve", reserve, item, rollback=release)  # reserve, reserve#2, ...
    payment = ctx.step("charge", charge, order.customer, order.total, rollback=refund, retry=Retry(max_retries=5))
    number = ctx.step("invoice", invoice, order.id, payment, rollback=void_invoice)
    ctx.step("loyalty", add_points, order.customer, int(order.total), rollback=take_points)
    ctx.step("confirm", confirm, order.customer, number)
    return number


def validate(step: Step, order: Order) -> None:
    assert order.items


def reserve(step: Step[State], item: Item) -> str:
    step.state.reserved.append(item.sku)
    return step.idempotency_key


def release(undo: Undo[str, State], item: Item) -> None:
    if item.sku in undo.state.reserved:  # the step may have failed before it reserved
        undo.state.reserved.remove(item.sku)


def charge(step: Step, customer: str, total: Decimal) -> str:
    return "p"


def refund(undo: Undo[str], customer: str, total: Decimal) -> None: ...
def invoice(step: Step, order_id: str, payment: str) -> str:
    return "n"


def void_invoice(undo: Undo[str], order_id: str, payment: str) -> None: ...
def add_points(step: Step[State], customer: str, points: int) -> None:
    step.state.points += points


def take_points(undo: Undo[None, State], customer: str, points: int) -> None:
    undo.state.points -= points


def confirm(step: Step, customer: str, number: str) -> None: ...
