"""A subscription that lives for years, and whose code has changed more than once since it began.

Version 2 is another workflow under the same name: subscriptions that began with version 1 keep it to their end. Within
version 2, gates and marks let running subscriptions take a smaller change in their stride.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from durable import Break, Context, Continue, Step, workflow

MONTH = timedelta(days=30)
INDEX = Decimal("1.02")


@dataclass(frozen=True)
class Subscription:
    """Who pays how much a month, and for how many."""

    customer: str
    price: Decimal
    months: int


@dataclass(frozen=True)
class Account:
    """The months that were paid, and how much that was."""

    months: int = 0
    paid: Decimal = Decimal(0)


@workflow(name="subscription", version=1)
def paid_at_the_end(ctx: Context, subscription: Subscription) -> Decimal:
    """As it was first deployed: one bill, at the end."""
    ctx.sleep("term", MONTH * subscription.months)
    return ctx.step("bill", bill, subscription.customer, subscription.price * subscription.months)


@workflow(name="subscription", version=2)
def paid_by_the_month(ctx: Context, subscription: Subscription) -> Decimal:
    """As it is now: a bill each month."""

    def month(ctx: Context, account: Account) -> Continue[Account] | Break[Decimal]:
        if account.months == subscription.months:
            return Break(account.paid)
        price = subscription.price
        if ctx.version("indexation", 2) == 2:  # each month decides for itself: one that was under way keeps its price
            price = ctx.step("price", indexed, price)
        ctx.sleep("month", MONTH)
        ctx.removed("letter", "step")  # bills are not sent on paper any more
        paid = ctx.step("bill", bill, subscription.customer, price)
        return Continue(Account(account.months + 1, account.paid + paid))

    return ctx.loop("months", month, state=Account())


def indexed(step: Step, price: Decimal) -> Decimal:
    return (price * INDEX).quantize(Decimal("0.01"))


def bill(step: Step, customer: str, amount: Decimal) -> Decimal:
    bills.setdefault(step.idempotency_key, f"{customer}: {amount}")
    return amount


bills: dict[str, str] = {}  # stands in for the billing service: it takes each key once
