from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from handler.workflows import bank
from handler.workflows.bank import Booking, Declined, Unavailable
from infra.demo.ledger import Booking as Booked
from infra.demo.ledger import Ledger, Leg, Paper
from infra.demo.scenario import Account, How
from tests.demo.conftest import CLOSED, OPEN, faulty

Serve = Callable[..., None]
AMOUNT = Decimal("12.50")


def credit(account: Account, key: str = "key") -> Booking:
    return bank.credit(account.number, AMOUNT, "T1", key=key)


def bookings(ledger: Ledger) -> list[tuple[str, str, int, int | None]]:
    return [(each.key, each.kind, each.cents, each.reverses) for each in ledger.books().bookings]


def test_a_booking_has_two_legs_that_sum_to_nothing(bank_at: Serve, ledger: Ledger) -> None:
    bank_at(OPEN)
    assert bank.debit(OPEN.number, AMOUNT, "T1", key="key") == Booking("1")
    books = ledger.books()
    assert books.bookings == (Booked(1, "key", "T1", "debit", OPEN.number, 1250, None),)
    assert books.legs == (Leg(1, "NORD clearing", 1250), Leg(1, OPEN.number, -1250))


def test_the_same_key_gets_the_same_answer_and_books_once(bank_at: Serve, ledger: Ledger) -> None:
    bank_at(OPEN)
    assert credit(OPEN) == credit(OPEN) == Booking("1")
    assert bookings(ledger) == [("key", "credit", 1250, None)]
    assert (ledger.books().calls, ledger.books().keys) == (2, 1)


def test_another_key_books_again(bank_at: Serve, ledger: Ledger) -> None:
    bank_at(OPEN)
    assert [credit(OPEN, "one"), credit(OPEN, "two")] == [Booking("1"), Booking("2")]


def test_a_key_is_not_taken_for_another_request(bank_at: Serve, ledger: Ledger) -> None:
    bank_at(OPEN)
    credit(OPEN)
    with pytest.raises(Declined, match="key was used for another request"):
        bank.debit(OPEN.number, AMOUNT, "T1", key="key")
    assert len(bookings(ledger)) == 1


def test_what_was_booked_is_found_by_its_key(bank_at: Serve) -> None:
    bank_at(OPEN)
    booking = credit(OPEN)
    assert bank.find_booking("key") == booking
    assert bank.find_booking("another") is None


@pytest.mark.parametrize(
    ("account", "amount", "reason"),
    [
        (CLOSED, "1.00", "account XQ03NORD is closed"),
        (OPEN, "50.01", "the amount is over the limit of account XQ01NORD"),
        (faulty(How.DECLINES, operation="debit"), "1.00", "not today"),
    ],
)
def test_a_decline_is_final(bank_at: Serve, ledger: Ledger, account: Account, amount: str, reason: str) -> None:
    bank_at(account)
    for _ in range(2):
        with pytest.raises(Declined, match=reason):
            bank.debit(account.number, Decimal(amount), "T1", key="key")
    assert bookings(ledger) == []
    assert bank.find_booking("key") is None


def test_an_account_that_does_not_exist_is_declined(bank_at: Serve) -> None:
    bank_at(OPEN)
    with pytest.raises(Declined, match="no bank has an account XQ09"):
        bank.credit("XQ09", AMOUNT, "T1", key="key")


def test_a_failure_before_booking_books_nothing_and_passes(bank_at: Serve, ledger: Ledger) -> None:
    account = faulty(How.FAILS_BEFORE, times=2)
    bank_at(account)
    for _ in range(2):
        with pytest.raises(Unavailable, match="POST /credits: status 500"):
            credit(account)
    assert bank.find_booking("key") is None
    assert credit(account) == Booking("1")


def test_a_failure_after_booking_has_booked(bank_at: Serve, ledger: Ledger) -> None:
    account = faulty(How.FAILS_AFTER)
    bank_at(account)
    with pytest.raises(Unavailable):
        credit(account)
    assert bank.find_booking("key") == Booking("1")
    assert credit(account) == Booking("1")
    assert bookings(ledger) == [("key", "credit", 1250, None)]


def test_a_hang_after_booking_outlasts_the_client_and_has_booked(
    bank_at: Serve, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank, "TIMEOUT", 0.05)
    monkeypatch.setattr("infra.demo.bank.HANG", 0.2)
    account = faulty(How.HANGS_AFTER)
    bank_at(account)
    with pytest.raises(Unavailable, match="timed out"):
        credit(account)
    monkeypatch.setattr(bank, "TIMEOUT", 1.0)
    assert credit(account) == Booking("1")
    assert bookings(ledger) == [("key", "credit", 1250, None)]


def test_a_bank_takes_back_what_it_booked_whatever_it_declines(bank_at: Serve, ledger: Ledger) -> None:
    account = faulty(How.FAILS_BEFORE, operation="debit-back")
    bank_at(account)
    booking = credit(account)
    with pytest.raises(Unavailable):
        bank.debit(account.number, AMOUNT, "T1", key="undo", reverses=booking)
    bank.debit(account.number, AMOUNT, "T1", key="undo", reverses=booking)
    assert bookings(ledger) == [("key", "credit", 1250, None), ("undo", "debit", 1250, 1)]


def test_a_notice_is_withdrawn_and_an_entry_struck_out_whether_they_are_there_or_not(
    bank_at: Serve, ledger: Ledger
) -> None:
    bank_at(OPEN)
    bank.send_notice(OPEN.number, "hello", "T1", key="notice")
    bank.write_entry(OPEN.number, AMOUNT, "T1", key="entry")
    bank.withdraw_notice("notice")
    bank.strike_entry("another")
    assert ledger.books().papers == (Paper("entry", "entry", "T1", False), Paper("notice", "notice", "T1", True))
