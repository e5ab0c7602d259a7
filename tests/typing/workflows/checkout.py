"""A checkout."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from durable import Action, Context, Retry, Step, Undo, workflow


@dataclass
class Order:
    id: str
    lines: list[str]
    card: str
    total: Decimal
    address: str
    email: str


@dataclass
class Hold:
    id: str


@dataclass
class Charge:
    id: str


@dataclass
class Parcel:
    tracking: str


@dataclass
class Receipt:
    charge: str
    tracking: str


@dataclass
class CheckoutState:
    status: str = "new"


@workflow(name="checkout", version=1, state=CheckoutState, timeout=timedelta(days=2), on_rollback_failure="halt")
def checkout(ctx: Context[CheckoutState], order: Order) -> Receipt:
    ctx.step("reserve-stock", reserve_stock, order.lines, rollback=release_stock)
    charge = ctx.step(
        "charge-card", charge_card, order.card, order.total, rollback=refund_card, retry=Retry(max_retries=3)
    )
    ctx.sleep("cooling-off", timedelta(hours=1))
    parcel = ctx.step(
        "book-courier", book_courier, order.address, rollback=cancel_courier, timeout=timedelta(seconds=20)
    )
    ctx.step("send-receipt", send_receipt, order.email, charge)
    return Receipt(charge.id, parcel.tracking)


def reserve_stock(step: Step, lines: list[str]) -> Hold:
    return Hold(step.idempotency_key)


def release_stock(undo: Undo[Hold], lines: list[str]) -> None:
    if undo.output:
        undo.log.info("release %s", undo.output.id)


def charge_card(step: Step, card: str, total: Decimal) -> Charge:
    return Charge(step.idempotency_key)


def refund_card(undo: Undo[Charge], card: str, total: Decimal) -> None:
    if undo.output:
        undo.log.info("refund %s", undo.output.id)
    else:
        undo.log.info("refund by key %s", undo.forward_idempotency_key)


def book_courier(step: Step, address: str) -> Parcel:
    return Parcel("T1")


def cancel_courier(undo: Undo[Parcel], address: str) -> None: ...


def send_receipt(step: Step[CheckoutState], email: str, charge: Charge) -> None:
    step.state.status = "paid"


@checkout.action
def get_state(action: Action[CheckoutState]) -> CheckoutState:
    return action.state
