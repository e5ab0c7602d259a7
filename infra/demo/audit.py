"""The audit: what the banks have written down against what became of the transfers. Pure, over rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from infra.demo.behaviour import Operation
from infra.demo.ledger import Booking, Books, Paper
from infra.demo.scenario import Transfer, money

Record = TypeVar("Record", Booking, Paper)


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


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold, and every fault that says that it does not."""

    claim: str
    faults: tuple[str, ...]


def audit(transfers: Sequence[Transfer], outcomes: Mapping[str, Outcome], books: Books) -> list[Check]:
    """The checks; the audit holds when none has a fault."""
    checks = {
        "every transfer is completed, or failed and rolled back": _open_ends(transfers, outcomes),
        "every booking has two legs that sum to nothing": _unequal_legs(books),
        "no charge is without its twin, and nothing is booked twice": _wrong_bookings(transfers, outcomes, books),
        "notices and entries stand for completed transfers, one each": _wrong_papers(transfers, outcomes, books),
        "every balance is right to the cent, and nothing is open between the banks": _wrong_balances(
            transfers, outcomes, books
        ),
    }
    return [Check(claim, tuple(faults)) for claim, faults in checks.items()]


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


def _wrong_bookings(transfers: Sequence[Transfer], outcomes: Mapping[str, Outcome], books: Books) -> Iterator[str]:
    bookings = _by_reference(books.bookings)
    for transfer in transfers:
        own = bookings.pop(transfer.id, [])
        yield from _wrong_orders(transfer, _stands(transfer, outcomes), [each for each in own if each.reverses is None])
        yield from _wrong_twins(transfer, _stands(transfer, outcomes), own)
    for reference in bookings:
        yield f"something was booked for {reference}, which is no transfer"


def _wrong_orders(transfer: Transfer, stands: bool, bookings: Sequence[Booking]) -> Iterator[str]:
    """Of the bookings that take nothing back: at most one debit and one credit, both of them if the transfer stands."""
    booked = Counter((booking.kind, booking.account, booking.cents) for booking in bookings)
    expected = {("debit", transfer.source, transfer.cents), ("credit", transfer.target, transfer.cents)}
    for (kind, account, cents), times in booked.items():
        if times > 1:
            yield f"{transfer.id}: the {kind} of {money(cents)} at {account} was booked {times} times"
        if (kind, account, cents) not in expected:
            yield f"{transfer.id}: a {kind} of {money(cents)} at {account} was booked, which nobody asked for"
    if stands:
        for kind, account, cents in sorted(expected - set(booked)):
            yield f"{transfer.id} is completed, and the {kind} of {money(cents)} at {account} is missing"


def _wrong_twins(transfer: Transfer, stands: bool, bookings: Sequence[Booking]) -> Iterator[str]:
    """What takes a booking back is its mirror image, once, and only where the transfer does not stand."""
    mirror = {"debit": "credit", "credit": "debit"}
    twins: dict[int, list[Booking]] = defaultdict(list)
    for booking in bookings:
        if booking.reverses is not None:
            twins[booking.reverses].append(booking)
    for booking in bookings:
        if booking.reverses is not None:
            continue
        name = f"its {booking.kind} (booking {booking.id})"
        own = twins.pop(booking.id, [])
        if stands and own:
            yield f"{transfer.id} is completed, and {name} was taken back"
        elif not stands and not own:
            yield f"{transfer.id} is not completed, and {name} has no twin"
        elif len(own) > 1:
            yield f"{transfer.id}: {name} was taken back {len(own)} times"
        for twin in own:
            if (twin.kind, twin.account, twin.cents) != (mirror[booking.kind], booking.account, booking.cents):
                yield f"{transfer.id}: booking {twin.id} is no mirror image of {name}"
    for stranger in twins:
        yield f"{transfer.id} took back booking {stranger}, which is not its own"


def _wrong_papers(transfers: Sequence[Transfer], outcomes: Mapping[str, Outcome], books: Books) -> Iterator[str]:
    papers = _by_reference(books.papers)
    for transfer in transfers:
        stands = _stands(transfer, outcomes)
        standing = Counter(paper.kind for paper in papers.pop(transfer.id, []) if not paper.void)
        for kind in (Operation.NOTICE, Operation.ENTRY):
            if standing[kind] != int(stands):
                word = "completed" if stands else "not completed"
                yield f"{transfer.id} is {word}, and the {kind} stands {standing[kind]} times"
    for reference in papers:
        yield f"something was filed for {reference}, which is no transfer"


def _wrong_balances(transfers: Sequence[Transfer], outcomes: Mapping[str, Outcome], books: Books) -> Iterator[str]:
    expected = Counter(books.openings)
    for transfer in transfers:
        if _stands(transfer, outcomes):
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


def _stands(transfer: Transfer, outcomes: Mapping[str, Outcome]) -> bool:
    """Whether the transfer is to be found in the books."""
    return transfer.id in outcomes and outcomes[transfer.id].completed


def _by_reference(records: Iterable[Record]) -> dict[str, list[Record]]:
    grouped: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        grouped[record.reference].append(record)
    return grouped
