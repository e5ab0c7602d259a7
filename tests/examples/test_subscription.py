"""A subscription of each version, side by side, and one that was under way when its code changed."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from durable import Break, Context, Continue, workflow
from durable.testing import Harness
from handler.workflows.subscription import (
    MONTH,
    Account,
    Subscription,
    bill,
    bills,
    paid_at_the_end,
    paid_by_the_month,
)

pytestmark = pytest.mark.rule("D7")

YEAR = Subscription("Ada", Decimal(10), 3)


@pytest.fixture(autouse=True)
def _no_bills() -> Iterator[None]:
    bills.clear()
    yield
    bills.clear()


@workflow(name="subscription", version=2)
def as_it_was(ctx: Context, subscription: Subscription) -> Decimal:
    """Version 2 before the last change: no indexation, and a letter with each bill."""

    def month(ctx: Context, account: Account) -> Continue[Account] | Break[Decimal]:
        if account.months == subscription.months:
            return Break(account.paid)
        ctx.sleep("month", MONTH)
        ctx.step("letter", lambda step: None)
        paid = ctx.step("bill", bill, subscription.customer, subscription.price)
        return Continue(Account(account.months + 1, account.paid + paid))

    return ctx.loop("months", month, state=Account())


def test_each_keeps_the_version_that_it_began_with(durable: Harness) -> None:
    first = durable.start(paid_at_the_end, YEAR)
    newest = durable.start_named(
        "subscription", {"customer": "Ada", "price": "10", "months": 3}, execution_id="subscription-1"
    )
    durable.run()

    assert (first.version, first.output) == (1, Decimal(30))
    assert (newest.version, newest.output) == (2, Decimal("30.60"))
    assert sorted(bills.values()) == ["Ada: 10.20", "Ada: 10.20", "Ada: 10.20", "Ada: 30"]


def test_one_that_is_under_way_when_the_code_changes_pays_the_new_price_from_the_next_month_on() -> None:
    with Harness(workflows=[as_it_was]) as durable:
        execution = durable.start(as_it_was, YEAR)
        durable.run(duration=MONTH * 1.5)
        durable.deploy([paid_at_the_end, paid_by_the_month])
        durable.run()

        assert (execution.status, execution.output) == ("completed", Decimal("30.20"))
        assert list(bills.values()) == ["Ada: 10", "Ada: 10", "Ada: 10.20"]
