"""A transfer between two banks."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from durable import Context, Step, TerminalError, Undo, workflow


class Bank:
    def debit(self, account: str, amount: Decimal, key: str) -> str:
        return f"debit {key}"

    def credit(self, account: str, amount: Decimal, key: str) -> str:
        return f"credit {key}"

    def was_booked(self, key: str) -> bool:
        return True


bank_a = Bank()
bank_b = Bank()


@dataclass
class Transfer:
    source: str
    target: str
    amount: Decimal


@dataclass
class Booking:
    id: str


@workflow
def transfer(ctx: Context, order: Transfer) -> tuple[Booking, Booking]:
    debit = ctx.step("debit-bank-a", debit_a, order.source, order.amount, rollback=credit_back)
    credit = ctx.step("credit-bank-b", credit_b, order.target, order.amount, rollback=debit_back)
    return debit, credit


def debit_a(step: Step, account: str, amount: Decimal) -> Booking:
    if amount <= 0:
        raise TerminalError(f"can't move {amount}")
    return Booking(bank_a.debit(account, amount, step.idempotency_key))


def credit_back(undo: Undo[Booking], account: str, amount: Decimal) -> None:
    if bank_a.was_booked(undo.forward_idempotency_key):  # a debit that timed out may have been booked: ask, don't guess
        bank_a.credit(account, amount, undo.idempotency_key)


def credit_b(step: Step, account: str, amount: Decimal) -> Booking:
    return Booking(bank_b.credit(account, amount, step.idempotency_key))


def debit_back(undo: Undo[Booking], account: str, amount: Decimal) -> None:
    if bank_b.was_booked(undo.forward_idempotency_key):
        bank_b.debit(account, amount, undo.idempotency_key)


# the same with lambdas
@workflow(name="transfer-inline")
def transfer_inline(ctx: Context, order: Transfer) -> None:
    ctx.step(
        "debit-bank-a",
        lambda step: bank_a.debit(order.source, order.amount, step.idempotency_key),
        rollback=lambda undo: (
            bank_a.was_booked(undo.forward_idempotency_key)
            and bank_a.credit(order.source, order.amount, undo.idempotency_key)
        ),
    )
    ctx.step("credit-bank-b", lambda step: bank_b.credit(order.target, order.amount, step.idempotency_key))
