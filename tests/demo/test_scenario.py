from __future__ import annotations

from collections import Counter

import pytest

from infra.demo.behaviour import Operation, operation, reached
from infra.demo.invent import invent, text
from infra.demo.scenario import SOURCE, Scenario, cents, money


def test_the_file_is_what_its_seed_gives() -> None:
    assert SOURCE.read_text(encoding="utf-8") == text(invent())


def test_the_file_has_transfers_that_complete_and_transfers_that_fail_at_each_step() -> None:
    transfers = Scenario.load()
    fates = Counter((asked[-1], completes) for asked, completes in (reached(transfers, t) for t in transfers.transfers))
    assert fates == {
        (Operation.ENTRY, True): 148,
        (Operation.DEBIT, False): 17,
        (Operation.CREDIT, False): 23,
        (Operation.NOTICE, False): 4,
        (Operation.ENTRY, False): 8,
    }


def test_twenty_transfers_are_enough_for_a_short_demo() -> None:
    transfers = Scenario.load(20)
    assert len(transfers.transfers) == 20
    failing = [asked[-1] for asked, completes in (reached(transfers, t) for t in transfers.transfers) if not completes]
    assert set(failing) == {Operation.DEBIT, Operation.CREDIT, Operation.NOTICE, Operation.ENTRY}


@pytest.mark.parametrize(("text", "amount"), [("12.50", 1250), ("0.07", 7), ("3", 300), ("1200.5", 120_050)])
def test_amounts_are_read_to_the_cent(text: str, amount: int) -> None:
    assert cents(text) == amount


def test_amounts_are_written_with_two_digits() -> None:
    assert [money(1250), money(-7), money(0)] == ["12.50", "-0.07", "0.00"]


def test_a_request_says_what_it_asks_for() -> None:
    assert operation("POST", "/credits", reverses=True) is Operation.CREDIT_BACK
    assert operation("GET", "/bookings?key=1", reverses=False) is Operation.INQUIRY
    assert operation("DELETE", "/notices/abc", reverses=False) is Operation.WITHDRAWAL
    assert operation("PUT", "/credits", reverses=False) is None
