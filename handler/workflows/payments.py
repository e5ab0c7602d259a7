"""An account that takes payments for as long as it lives, one message at a time.

Each payment begins with a rollback checkpoint: those before it are settled business, and the loop may forget them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from durable import Action, Break, Context, Queue, Step, Undo, workflow


@dataclass(frozen=True)
class Incoming:
    """A payment as it comes in."""

    id: str
    amount: Decimal


@dataclass(frozen=True)
class Plan:
    """What a payment will do to the account."""

    payment: str
    amount: Decimal
    fee: Decimal


@dataclass
class Totals:
    """What the account has taken."""

    count: int = 0
    amount: Decimal = Decimal(0)
    last: str = ""


incoming = Queue("incoming", Incoming)


@workflow(state=Totals)
def account(ctx: Context[Totals]) -> None:
    ctx.loop("payments", take_payment)


def take_payment(ctx: Context[Totals]) -> Break[None] | None:
    messages = ctx.queue.next_batch("wait", incoming, timeout=timedelta(days=30))
    if not messages:
        return Break()  # a month without a payment: the account is closed
    ctx.rollback_checkpoint("settled")
    plan = ctx.step("plan", make_plan, messages[0].body)
    ctx.step("apply", apply, plan, rollback=take_back)
    ctx.step("enter", enter, plan)
    return None


def make_plan(step: Step, payment: Incoming) -> Plan:
    return Plan(payment.id, payment.amount, fee=(payment.amount * Decimal("0.01")).quantize(Decimal("0.01")))


def apply(step: Step[Totals], plan: Plan) -> None:
    step.state.count += 1
    step.state.amount += plan.amount - plan.fee
    step.state.last = plan.payment


def take_back(undo: Undo[None, Totals], plan: Plan) -> None:
    if undo.completed:
        undo.state.count -= 1
        undo.state.amount -= plan.amount - plan.fee


def enter(step: Step, plan: Plan) -> None:
    ledger.enter(plan.payment, plan.amount, key=step.idempotency_key)


@account.action
def totals(action: Action[Totals]) -> Totals:
    return action.state


class Ledger:
    """Stands in for the books: they take each key once."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[str, Decimal]] = {}
        self.closed = False

    def enter(self, payment: str, amount: Decimal, *, key: str) -> None:
        """Enter a payment."""
        if self.closed:
            raise ConnectionError("the books are closed")
        self.entries.setdefault(key, (payment, amount))


ledger = Ledger()
