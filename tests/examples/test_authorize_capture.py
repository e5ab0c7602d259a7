"""A purchase whose block of two steps goes well, or fails in either of them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from durable.testing import Harness
from handler.workflows.authorize_capture import Bank, Purchase, purchase

pytestmark = pytest.mark.rule("F5", "F6")


@pytest.fixture
def bank(monkeypatch: pytest.MonkeyPatch) -> Bank:
    bank = Bank()
    monkeypatch.setattr("handler.workflows.authorize_capture.bank", bank)
    return bank


def outcome(durable: Harness, card: str = "4111") -> str:
    execution = durable.start(purchase, Purchase("p-1", card, Decimal("9.90")))
    durable.run()
    assert (execution.status, execution.rollback.outcome) == ("completed", "none")
    return execution.output


def test_what_is_authorised_is_captured(durable: Harness, bank: Bank) -> None:
    assert outcome(durable) == "captured 9.90"
    assert (bank.authorized, bank.captured) == ({"p-1": Decimal("9.90")}, {"p-1": Decimal("9.90")})


def test_a_capture_that_fails_lets_go_of_what_was_authorised(durable: Harness, bank: Bank) -> None:
    bank.refuses_capture = True
    assert outcome(durable) == "not paid: the authorisation has expired"
    assert (bank.authorized, bank.captured) == ({}, {})


def test_a_card_that_is_not_authorised_is_not_captured(durable: Harness, bank: Bank) -> None:
    assert outcome(durable, card="5111") == "not paid: card 5111 is not one of ours"
    assert durable.faults.bodies == ["payment/authorize", "void"]
