"""What happened to one transfer, in the order in which it did: its history, and where a worker died."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from durable import Execution, HistoryEntry
from infra.demo.scenario import Scenario, money
from infra.demo.supervisor import Death

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
