"""What is printed at the end: the checks of the audit, and what there was to survive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from infra.demo.audit import Check
from infra.demo.kills import Kind, Point
from infra.demo.ledger import Books
from infra.demo.results import Ended
from infra.demo.supervisor import Workers

MOST_FAULTS = 10  # of one check that are printed


def kill_checks(planned: Sequence[Point], workers: Workers) -> list[Check]:
    """The demo proves nothing if its workers did not die, or died of something else."""
    died = {death.point for death in workers.deaths}
    missing = [f"nobody was killed at {point}" for point in planned if point not in died]
    return [
        Check(f"{len(planned)} workers were killed where the plan says", tuple(missing)),
        Check("no process ended in a way that nobody planned", tuple(workers.accidents)),
    ]


def verdicts(checks: Sequence[Check]) -> list[str]:
    """A line for each check, and below it what is wrong."""
    return [line for check in checks for line in _verdict(check)]


def figures(ended: Ended, workers: Workers, books: Books) -> list[str]:
    """What there was to survive."""
    completed = sum(outcome.completed for outcome in ended.outcomes.values())
    rolled_back = sum(outcome.rolled_back for outcome in ended.outcomes.values())
    kinds = Counter(death.point.kind for death in workers.deaths)
    killed = ", ".join(f"{kinds[kind]} {kind}" for kind in Kind)
    return [
        f"transfers     {completed} completed, {rolled_back} rolled back",
        f"killed        {len(workers.deaths)} workers by SIGKILL: {killed}",
        *([f"timed out     {workers.timeouts} invocations"] if workers.timeouts else []),
        f"redelivered   {workers.redeliveries} messages",
        f"rolled back   {ended.undone} steps",
        f"booked        {len(books.bookings)} times; {books.calls - books.keys} repeated calls booked nothing more",
    ]


def _verdict(check: Check) -> list[str]:
    if not check.faults:
        return [f"ok      {check.claim}"]
    more = [f"... and {len(check.faults) - MOST_FAULTS} more"] if len(check.faults) > MOST_FAULTS else []
    faults = [*check.faults[:MOST_FAULTS], *more]
    return [f"FAILED  {check.claim}", *("        " + fault.replace("\n", "\n        ") for fault in faults)]


STYLES = {"ok": "green", "FAILED": "bold red", "SIGKILL": "yellow"}  # of lines that begin so, seconds aside


def say(*lines: str) -> None:
    """Print lines: coloured on a terminal, as they are elsewhere."""
    console = Console()
    for line in lines:
        style = next((style for word, style in STYLES.items() if line.startswith(word) or f"s   {word}" in line), "")
        console.print(Text(line, style), soft_wrap=True)
