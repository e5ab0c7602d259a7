from __future__ import annotations

from collections.abc import Sequence

import pytest

from infra.demo.audit import Outcome
from infra.demo.audit import audit as checks
from infra.demo.ledger import Booking, Books, Leg, Paper, clearing
from infra.demo.scenario import Transfer

OPENINGS = {"A": 10_000, "B": 0, clearing("NORD"): 0, clearing("ATLA"): 0}
TRANSFER = Transfer("T1", "A", "B", 1250, "Rent")
DEBIT = Booking(1, "k1", "T1", "debit", "A", 1250, None)
CREDIT = Booking(2, "k2", "T1", "credit", "B", 1250, None)
CREDIT_BACK = Booking(3, "k3", "T1", "credit", "A", 1250, 1)
DEBIT_BACK = Booking(4, "k4", "T1", "debit", "B", 1250, 2)
NOTICE, ENTRY = Paper("k5", "notice", "T1", False), Paper("k6", "entry", "T1", False)
COMPLETED, ROLLED_BACK = Outcome("completed", "none"), Outcome("failed", "completed")


def audit(outcome: Outcome | None, bookings: Sequence[Booking], *papers: Paper, spare: Sequence[Leg] = ()) -> list[str]:
    legs: list[Leg] = []
    for booking in bookings:
        gain = booking.cents if booking.kind == "credit" else -booking.cents
        legs.append(Leg(booking.id, booking.account, gain))
        legs.append(Leg(booking.id, clearing("NORD" if booking.account == "A" else "ATLA"), -gain))
    books = Books(OPENINGS, tuple(bookings), (*legs, *spare), papers, calls=0, keys=0)
    return [fault for check in checks([TRANSFER], {"T1": outcome} if outcome else {}, books) for fault in check.faults]


def test_it_holds_for_a_completed_transfer() -> None:
    assert audit(COMPLETED, [DEBIT, CREDIT], NOTICE, ENTRY) == []


@pytest.mark.parametrize("bookings", [[], [DEBIT, CREDIT_BACK], [DEBIT, CREDIT, DEBIT_BACK, CREDIT_BACK]])
def test_it_holds_for_one_that_was_rolled_back_from_any_depth(bookings: list[Booking]) -> None:
    assert audit(ROLLED_BACK, bookings, Paper("k5", "notice", "T1", True)) == []


def test_it_finds_a_charge_without_its_twin() -> None:
    assert audit(ROLLED_BACK, [DEBIT]) == [
        "T1 is not completed, and its debit (booking 1) has no twin",
        "account A has 87.50 and should have 100.00",
        "12.50 is open between the banks",
    ]


def test_it_finds_a_completed_transfer_without_its_credit() -> None:
    assert audit(COMPLETED, [DEBIT], NOTICE, ENTRY) == [
        "T1 is completed, and the credit of 12.50 at B is missing",
        "account B has 0.00 and should have 12.50",
        "12.50 is open between the banks",
    ]


def test_it_finds_a_double_booking() -> None:
    again = Booking(9, "k9", "T1", "credit", "B", 1250, None)
    assert audit(COMPLETED, [DEBIT, CREDIT, again], NOTICE, ENTRY) == [
        "T1: the credit of 12.50 at B was booked 2 times",
        "account B has 25.00 and should have 12.50",
        "-12.50 is open between the banks",
    ]


def test_it_finds_a_booking_that_was_taken_back_twice() -> None:
    again = Booking(9, "k9", "T1", "credit", "A", 1250, 1)
    assert audit(ROLLED_BACK, [DEBIT, CREDIT_BACK, again]) == [
        "T1: its debit (booking 1) was taken back 2 times",
        "account A has 112.50 and should have 100.00",
        "-12.50 is open between the banks",
    ]


def test_it_finds_a_completed_transfer_that_was_taken_back() -> None:
    assert audit(COMPLETED, [DEBIT, CREDIT, CREDIT_BACK], NOTICE, ENTRY)[0] == (
        "T1 is completed, and its debit (booking 1) was taken back"
    )


def test_it_finds_a_twin_of_another_amount() -> None:
    less = Booking(3, "k3", "T1", "credit", "A", 1249, 1)
    assert audit(ROLLED_BACK, [DEBIT, less])[0] == "T1: booking 3 is no mirror image of its debit (booking 1)"


def test_it_finds_legs_that_do_not_balance_to_the_cent() -> None:
    assert audit(COMPLETED, [DEBIT, CREDIT], NOTICE, ENTRY, spare=[Leg(2, "B", 1)]) == [
        "booking 2 has 3 legs, that sum to 0.01",
        "account B has 12.51 and should have 12.50",
    ]


def test_it_finds_a_transfer_that_has_not_ended_and_one_whose_rollback_failed() -> None:
    assert audit(None, []) == ["T1 was never started"]
    assert audit(Outcome("running", "none"), []) == ["T1 is running, its rollback is none"]
    assert audit(Outcome("failed", "failed"), []) == ["T1 is failed, its rollback is failed"]


def test_it_finds_notices_and_entries_that_should_not_stand_and_those_that_are_missing() -> None:
    assert audit(ROLLED_BACK, [], NOTICE, Paper("k6", "entry", "T1", True)) == [
        "T1 is not completed, and the notice stands 1 times"
    ]
    assert audit(COMPLETED, [DEBIT, CREDIT], NOTICE) == ["T1 is completed, and the entry stands 0 times"]


def test_it_finds_a_booking_for_no_transfer() -> None:
    stray = Booking(9, "k9", "T7", "debit", "A", 1, None)
    assert audit(COMPLETED, [DEBIT, CREDIT, stray], NOTICE, ENTRY)[0] == (
        "something was booked for T7, which is no transfer"
    )
