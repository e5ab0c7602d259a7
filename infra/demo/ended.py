"""How the executions of the transfers ended, read once through the client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from durable import Client
from infra.demo.audit import Outcome
from infra.demo.supervisor import Death


@dataclass(frozen=True, slots=True)
class Ended:
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
