"""A payment that is charged, and one whose card is refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from durable.testing import Harness
from handler.workflows.payment import Cards, Order, Payment, get_state, payment

ORDER = Order("order-1", "4111", Decimal("9.90"))


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> Cards:
    cards = Cards()
    monkeypatch.setattr("handler.workflows.payment.cards", cards)
    return cards


def test_a_card_is_charged_once_although_the_process_dies(durable: Harness, cards: Cards) -> None:
    execution = durable.start(payment, ORDER)
    assert execution.action(get_state) == Payment("pending")
    durable.faults.after(2, durable.faults.die, by="Worker")
    durable.run()

    assert execution.action("get_state") == Payment("paid", "9.90 from 4111")
    assert list(cards.receipts.values()) == ["9.90 from 4111"]


@pytest.mark.rule("F1", "E8")
def test_a_card_that_is_refused_is_looked_at_by_a_person(durable: Harness, cards: Cards) -> None:
    cards.refused.add("4111")
    execution = durable.start(payment, ORDER)
    durable.run()

    assert (execution.status, execution.rollback.outcome) == ("completed", "none")
    assert execution.action(get_state) == Payment("manual-review", "card 4111 was refused")
