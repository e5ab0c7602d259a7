"""What happened to one transfer, in the order in which it did: its history, and where a worker died."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from durable import Execution, HistoryEntry
from infra.demo.scenario import Scenario, Transfer, money
from infra.demo.supervisor import Death

Event = tuple[float, str]  # seconds since the epoch, and what happened then


def timeline(execution: Execution[Any, Any], title: str, deaths: Iterable[Death]) -> list[str]:
    """A line for each thing that happened, with the seconds since the first."""
    events = sorted([*_recorded(execution.history), *_died(execution.id, deaths)])
    began = min(entry.started_at.timestamp() for entry in execution.history)
    lines = [f"{at - began:8.2f} s  {what}" for at, what in events]
    end = f"{execution.status}"
    if execution.error:
        end += f", rollback {execution.rollback.outcome}: {execution.error}"
    return [title, *lines, f"            {end}"]


def title(scenario: Scenario, transfer: Transfer) -> str:
    source, target = scenario.accounts[transfer.source], scenario.accounts[transfer.target]
    return f"{transfer.id}  {money(transfer.cents)} from {source.owner} to {target.owner}: {transfer.purpose}"


def telling(executions: Sequence[Execution[Any, Any]], deaths: Sequence[Death]) -> Execution[Any, Any]:
    """The one with most to tell: the most deaths, then the longest history."""

    def events(execution: Execution[Any, Any]) -> tuple[int, int]:
        return sum(death.point.transfer == execution.id for death in deaths), len(execution.history)

    return max(executions, key=events)


def _recorded(history: Iterable[HistoryEntry]) -> Iterator[Event]:
    for entry in history:
        attempts = f" at attempt {entry.attempts}" if entry.attempts > 1 else ""
        name = f"{entry.path} undone" if entry.kind == "rollback" else entry.path
        outcome = f"{entry.status}{attempts}"
        ended = entry.ended_at or entry.started_at
        yield ended.timestamp(), f"{name:16} {outcome}{f': {entry.error}' if entry.error else ''}"


def _died(transfer: str, deaths: Iterable[Death]) -> Iterator[Event]:
    for death in deaths:
        if death.point.transfer == transfer:
            point = death.point
            yield death.at, f"SIGKILL          {death.worker} {point.kind}, {point.moment} {point.call}"
