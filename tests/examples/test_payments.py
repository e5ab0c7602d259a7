"""An account that takes payments as they come, and rolls back the one that failed, and no other."""

from __future__ import annotations

from decimal import Decimal

import pytest

from durable.testing import Harness
from handler.workflows.payments import Incoming, Ledger, Totals, account, incoming, totals


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Ledger:
    ledger = Ledger()
    monkeypatch.setattr("handler.workflows.payments.ledger", ledger)
    return ledger


@pytest.mark.rule("L3", "Q2")
def test_payments_are_taken_in_order_and_the_history_stays_short(durable: Harness, ledger: Ledger) -> None:
    execution = durable.start(account)
    for number in range(21):
        execution.send(incoming, Incoming(f"p-{number}", Decimal(100)))
    durable.run(duration=60)

    assert execution.action(totals) == Totals(21, Decimal("2079.00"), "p-20")
    assert list(ledger.entries.values()) == [(f"p-{number}", Decimal(100)) for number in range(21)]
    assert len(execution.history) <= 2 * 5 + 2


@pytest.mark.rule("R14", "R15")
def test_a_payment_that_can_not_be_entered_is_taken_back_and_those_before_it_are_settled(
    durable: Harness, ledger: Ledger
) -> None:
    execution = durable.start(account)
    execution.send(incoming, Incoming("p-1", Decimal(100)))
    durable.run(duration=60)
    ledger.closed = True
    execution.send(incoming, Incoming("p-2", Decimal(50)))
    durable.run()

    assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
    assert str(execution.error) == "ConnectionError: the books are closed"
    assert (execution.state.count, execution.state.amount) == (1, Decimal("99.00"))
    assert list(ledger.entries.values()) == [("p-1", Decimal(100))]


def test_a_month_without_payments_closes_the_account(durable: Harness, ledger: Ledger) -> None:
    execution = durable.start(account)
    durable.run()

    assert (execution.status, execution.action("totals")) == ("completed", Totals())
