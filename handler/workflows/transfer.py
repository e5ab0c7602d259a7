"""A transfer between two banks: four steps, and beside each of them what undoes it.

The process may die at any line, and a bank may book and never answer. The execution goes on where it was; when it fails
for good, what was done is undone, the last first.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from durable import Context, Retry, Step, Undo, workflow
from handler.workflows import bank
from handler.workflows.bank import Booking

BANKS = Retry(3, backoff_base=0.1, backoff_max=5)  # banks have their moments


@dataclass(frozen=True)
class Transfer:
    """Who pays whom, how much and what for."""

    source: str
    target: str
    amount: Decimal
    purpose: str


@dataclass(frozen=True)
class Receipt:
    """What the two banks booked."""

    debit: Booking
    credit: Booking


@workflow
def transfer(ctx: Context, order: Transfer) -> Receipt:
    debit = ctx.step("debit", debit_source, order, rollback=credit_source_back, retry=BANKS)
    credit = ctx.step("credit", credit_target, order, rollback=debit_target_back, retry=BANKS)
    ctx.step("notify", notify_target, order, rollback=withdraw_notice, retry=BANKS)
    ctx.step("ledger", write_entry, order, rollback=strike_entry, retry=BANKS)
    return Receipt(debit, credit)


def debit_source(step: Step, order: Transfer) -> Booking:
    return bank.debit(order.source, order.amount, step.execution_id, key=step.idempotency_key)


def credit_source_back(undo: Undo[Booking], order: Transfer) -> None:
    if booking := what_was_booked(undo):
        bank.credit(order.source, order.amount, undo.execution_id, key=undo.idempotency_key, reverses=booking)


def credit_target(step: Step, order: Transfer) -> Booking:
    return bank.credit(order.target, order.amount, step.execution_id, key=step.idempotency_key)


def debit_target_back(undo: Undo[Booking], order: Transfer) -> None:
    if booking := what_was_booked(undo):
        bank.debit(order.target, order.amount, undo.execution_id, key=undo.idempotency_key, reverses=booking)


def what_was_booked(undo: Undo[Booking]) -> Booking | None:
    """The step's output; without one the bank may have booked all the same, so ask it, don't guess."""
    return undo.output or bank.find_booking(undo.forward_idempotency_key)


def notify_target(step: Step, order: Transfer) -> None:
    text = f"{order.amount} from {order.source}: {order.purpose}"
    bank.send_notice(order.target, text, step.execution_id, key=step.idempotency_key)


def withdraw_notice(undo: Undo[None], order: Transfer) -> None:
    bank.withdraw_notice(undo.forward_idempotency_key)  # nothing to withdraw is fine: no need to ask first


def write_entry(step: Step, order: Transfer) -> None:
    bank.write_entry(order.target, order.amount, step.execution_id, key=step.idempotency_key)


def strike_entry(undo: Undo[None], order: Transfer) -> None:
    bank.strike_entry(undo.forward_idempotency_key)
