"""What became of the transfers: how each ended, and what happened to one of them, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from durable import Client, Execution, HistoryEntry
from infra.demo.audit import Outcome
from infra.demo.scenario import Scenario, money
from infra.demo.supervisor import Death


@dataclass(frozen=True, slots=True)
class Ended:
    """How the executions of the transfers ended, read once through the client."""

    outcomes: Mapping[str, Outcome]
    rollbacks: Mapping[str, int]  # of those that were rolled back: how many steps were undone

    @classmethod
    def read(cls, client: Client, statuses: Mapping[str, str]) -> Self:
        """Look at those that failed, from the status that each ended with."""
        outcomes = {transfer: Outcome(status, "none") for transfer, status in statuses.items()}
        rollbacks: dict[str, int] = {}
        for transfer, outcome in outcomes.items():
            if outcome.status == "failed":
                execution = client.get(transfer)
                outcomes[transfer] = Outcome(outcome.status, execution.rollback.outcome)
                rollbacks[transfer] = sum(entry.kind == "rollback" for entry in execution.history)
        return cls(outcomes, rollbacks)

    @property
    def undone(self) -> int:
        """Steps that were undone, in all."""
        return sum(self.rollbacks.values())

    def telling(self, deaths: Iterable[Death]) -> list[str]:
        """One that completed and one that was rolled back: where most workers died, and there is most to undo."""
        died = Counter(death.point.transfer for death in deaths)

        def events(transfer: str) -> tuple[int, int]:
            return died[transfer], self.rollbacks.get(transfer, 0)

        completed = [transfer for transfer, outcome in self.outcomes.items() if outcome.completed]
        rolled_back = [transfer for transfer, outcome in self.outcomes.items() if outcome.rolled_back]
        return [max(group, key=events) for group in (completed, rolled_back) if group]


Event = tuple[float, str]  # seconds since the epoch, and what happened then


def timeline(execution: Execution[Any, Any], deaths: Iterable[Death]) -> list[str]:
    """A line for each thing that happened, with the seconds since the start."""
    died = [death for death in deaths if death.point.transfer == execution.id]
    error = execution.error
    end = f"{execution.status}, and rolled back; it failed for: {error.message}" if error else execution.status
    return [*moments(execution.created_at, execution.history, died), f"             = {end}"]


def moments(start: datetime, history: Iterable[HistoryEntry], deaths: Iterable[Death]) -> list[str]:
    """What was recorded and who died, in the order in which it happened."""
    began = start.timestamp()
    return [f"{at - began:8.2f} s   {what}" for at, what in sorted([*_recorded(history), *_died(deaths)])]


def title(scenario: Scenario, transfer_id: str) -> str:
    """Return what the transfer is about."""
    transfer = next(each for each in scenario.transfers if each.id == transfer_id)
    source, target = scenario.accounts[transfer.source], scenario.accounts[transfer.target]
    parties = f"{source.owner} ({source.bank}) to {target.owner} ({target.bank})"
    return f"{transfer.id}: {money(transfer.cents)} from {parties}, {transfer.purpose}"


def _recorded(history: Iterable[HistoryEntry]) -> Iterator[Event]:
    for entry in history:
        name = f"undo {entry.path}" if entry.kind == "rollback" else entry.path
        attempts = f", attempt {entry.attempts}" if entry.attempts > 1 else ""
        error = f": {entry.error}" if entry.error else ""
        yield (entry.ended_at or entry.started_at).timestamp(), f"{name:12} {entry.status}{attempts}{error}"


def _died(deaths: Iterable[Death]) -> Iterator[Event]:
    for death in deaths:
        point = death.point
        yield death.at, f"SIGKILL      {death.worker} dies {point.kind}, {point.moment} {point.call}"
