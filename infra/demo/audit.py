"""The audit: what the banks have written down against what became of the transfers. Pure, over rows.

1. Every transfer is completed, or failed and rolled back.
2. The two legs of each booking sum to nothing.
3. A completed transfer has one debit, its twin the credit, one notice and one entry.
4. Each booking of one that was rolled back has its twin, which takes it back; no notice stands, and no entry.
5. Nothing is booked for anything else.
6. Every account has its opening balance and what the completed transfers moved, to the cent; nothing is open between
   the banks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from infra.demo.behaviour import Operation
from infra.demo.ledger import Booking, Books, Paper
from infra.demo.scenario import Transfer, money


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the execution of a transfer ended: its status, and that of its rollback."""

    status: str
    rollback: str

    @property
    def completed(self) -> bool:
        return self.status == "completed"

    @property
    def rolled_back(self) -> bool:
        return self.status == "failed" and self.rollback == "completed"


def faults(transfers: Sequence[Transfer], outcomes: Mapping[str, Outcome], books: Books) -> list[str]:
    """Everything that is wrong, a line each; nothing when the audit holds."""
    return [
        *_open_ends(transfers, outcomes),
        *_unequal_legs(books),
        *_wrong_records(transfers, outcomes, books),
        *_wrong_balances(transfers, outcomes, books),
    ]


def _open_ends(transfers: Sequence[Transfer], outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    for transfer in transfers:
        outcome = outcomes.get(transfer.id)
        if outcome is None:
            yield f"{transfer.id} was never started"
        elif not (outcome.completed or outcome.rolled_back):
            yield f"{transfer.id} is {outcome.status}, its rollback is {outcome.rollback}"


def _unequal_legs(books: Books) -> Iterator[str]:
    sums: Counter[int] = Counter({booking.id: 0 for booking in books.bookings})
    sides: Counter[int] = Counter()
    for leg in books.legs:
        sums[leg.booking] += leg.cents
        sides[leg.booking] += 1
    for booking, total in sums.items():
        if total or sides[booking] != 2:
            yield f"booking {booking} has {sides[booking]} legs, that sum to {money(total)}"


def _wrong_records(transfers: Sequence[Transfer], outcomes: Mapping[str, Outcome], books: Books) -> Iterator[str]:
    bookings: dict[str, list[Booking]] = defaultdict(list)
    papers: dict[str, list[Paper]] = defaultdict(list)
    for booking in books.bookings:
        bookings[booking.reference].append(booking)
    for paper in books.papers:
        papers[paper.reference].append(paper)
    for transfer in transfers:
        outcome = outcomes.get(transfer.id)
        stands = outcome is not None and outcome.completed
        yield from _wrong_bookings(transfer, stands, bookings.pop(transfer.id, []))
        yield from _wrong_papers(transfer, stands, papers.pop(transfer.id, []))
    for reference in sorted({*bookings, *papers}):
        yield f"something was booked or filed for {reference}, which is no transfer"


def _wrong_bookings(transfer: Transfer, stands: bool, bookings: Sequence[Booking]) -> Iterator[str]:
    first = [booking for booking in bookings if booking.reverses is None]
    taken_back = Counter(booking.reverses for booking in bookings if booking.reverses is not None)
    orders = Counter((booking.kind, booking.account, booking.cents) for booking in first)
    expected = {("debit", transfer.source, transfer.cents), ("credit", transfer.target, transfer.cents)}
    for (kind, account, cents), times in orders.items():
        if times > 1:
            yield f"{transfer.id}: the {kind} of {money(cents)} at {account} was booked {times} times"
        if (kind, account, cents) not in expected:
            yield f"{transfer.id}: a {kind} of {money(cents)} at {account} was booked, which nobody asked for"
    if stands:
        for kind, account, cents in sorted(expected - set(orders)):
            yield f"{transfer.id} is completed, and the {kind} of {money(cents)} at {account} is missing"
    for booking in first:
        twins = taken_back.pop(booking.id, 0)
        if stands and twins:
            yield f"{transfer.id} is completed, and its {booking.kind} (booking {booking.id}) was taken back"
        elif not stands and not twins:
            yield f"{transfer.id} is not completed, and its {booking.kind} (booking {booking.id}) has no twin"
        elif twins > 1:
            yield f"{transfer.id}: its {booking.kind} (booking {booking.id}) was taken back {twins} times"
    for reversed_booking in taken_back:
        yield f"{transfer.id}: booking {reversed_booking} was taken back, and is not one of its own"
    yield from _wrong_reversals(transfer, bookings)


def _wrong_reversals(transfer: Transfer, bookings: Sequence[Booking]) -> Iterator[str]:
    by_id = {booking.id: booking for booking in bookings}
    for booking in bookings:
        twin = by_id.get(booking.reverses) if booking.reverses is not None else None
        if twin and (twin.account, twin.cents) != (booking.account, booking.cents):
            yield f"{transfer.id}: booking {booking.id} takes back something else than booking {twin.id} moved"
        if twin and twin.kind == booking.kind:
            yield f"{transfer.id}: booking {booking.id} is a second {twin.kind}, not the twin of booking {twin.id}"


def _wrong_papers(transfer: Transfer, stands: bool, papers: Sequence[Paper]) -> Iterator[str]:
    standing = Counter(paper.kind for paper in papers if not paper.void)
    for kind in (Operation.NOTICE, Operation.ENTRY):
        if standing[kind] != int(stands):
            word = "completed" if stands else "not completed"
            yield f"{transfer.id} is {word}, and has {standing[kind]} of: {kind}"


def _wrong_balances(transfers: Sequence[Transfer], outcomes: Mapping[str, Outcome], books: Books) -> Iterator[str]:
    expected = Counter(books.openings)
    for transfer in transfers:
        if transfer.id in outcomes and outcomes[transfer.id].completed:
            expected[transfer.source] -= transfer.cents
            expected[transfer.target] += transfer.cents
    actual = Counter(books.openings)
    for leg in books.legs:
        actual[leg.account] += leg.cents
    between_banks = 0
    for account in sorted({*expected, *actual}):
        if account.endswith("clearing"):
            between_banks += actual[account]
        elif actual[account] != expected[account]:
            yield f"account {account} has {money(actual[account])} and should have {money(expected[account])}"
    if between_banks:
        yield f"{money(between_banks)} is open between the banks"
