"""What is printed at the end: the checks of the audit, and what there was to survive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infra.demo.audit import Check, Outcome
from infra.demo.kills import Kind, Point
from infra.demo.ledger import Books
from infra.demo.supervisor import Death

MOST_FAULTS = 10  # of one check that are printed


@dataclass(frozen=True, slots=True)
class Survived:
    """What the transfers went through."""

    planned: Sequence[Point]
    deaths: Sequence[Death]
    accidents: Sequence[str]
    redeliveries: int
    rollbacks: int  # steps that were undone

    def checks(self) -> list[Check]:
        """The demo proves nothing if its workers did not die, or died of something else."""
        died = {death.point for death in self.deaths}
        missing = [f"nobody was killed at {point}" for point in self.planned if point not in died]
        return [
            Check(f"{len(self.planned)} workers were killed where the plan says", tuple(missing)),
            Check("no process ended in any other way", tuple(self.accidents)),
        ]


def lines(checks: Sequence[Check], outcomes: Mapping[str, Outcome], survived: Survived, books: Books) -> list[str]:
    completed = sum(outcome.completed for outcome in outcomes.values())
    rolled_back = sum(outcome.rolled_back for outcome in outcomes.values())
    kinds = Counter(death.point.kind for death in survived.deaths)
    killed = ", ".join(f"{kinds[kind]} {kind}" for kind in Kind)
    return [
        *(line for check in checks for line in _verdict(check)),
        "",
        f"transfers     {completed} completed, {rolled_back} rolled back",
        f"killed        {len(survived.deaths)} workers by SIGKILL: {killed}",
        f"redelivered   {survived.redeliveries} messages",
        f"rolled back   {survived.rollbacks} steps",
        f"booked        {len(books.bookings)} times, {books.calls - books.keys} repeated calls booked nothing more",
    ]


def _verdict(check: Check) -> list[str]:
    if not check.faults:
        return [f"ok      {check.claim}"]
    more = [f"... and {len(check.faults) - MOST_FAULTS} more"] if len(check.faults) > MOST_FAULTS else []
    faults = [*check.faults[:MOST_FAULTS], *more]
    return [f"FAILED  {check.claim}", *("        " + fault.replace("\n", "\n        ") for fault in faults)]
