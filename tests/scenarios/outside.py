"""A fake outside world that honours idempotency keys, and a witness of every body that reaches it."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from durable import Step, Undo
from durable.testing import Harness
from tests.scenarios import table


@dataclass
class Seen:
    """What the world saw of one execution."""

    effects: dict[str, str] = field(default_factory=dict)  # by idempotency key: what was done, once
    bodies: list[str] = field(default_factory=list)  # what was asked for, in order, repetitions too
    wrong: list[str] = field(default_factory=list)  # what must never happen

    @property
    def done(self) -> list[str]:
        """The effects in the order in which they came about."""
        return list(self.effects.values())

    @property
    def count(self) -> Counter[str]:
        """How often each body was run."""
        return Counter(self.bodies)


class Outside:
    """Takes each idempotency key once. Notes a body that must not run: recorded, overlapping, or forward after back."""

    def __init__(self) -> None:
        self.durable: Harness | None = None
        self.seen: defaultdict[str, Seen] = defaultdict(Seen)
        self._running: str | None = None
        self._after: tuple[int, Callable[[], object]] | None = None

    def after(self, nth: int, action: Callable[[], object]) -> None:
        """At the nth effect from now that a body asks for: once the world has taken it, and before the body returns."""
        self._after = (nth, action)

    def clear(self) -> None:
        """Nothing that was planned happens any more."""
        self._after = None

    def do(self, step: Step) -> str:
        """The effect of a step: its receipt, the same for the same key."""
        return self._take(step, step.path)

    def undo(self, undo: Undo) -> str:
        """The effect of a rollback."""
        return self._take(undo, f"undo {undo.path}")

    def _take(self, subject: Step | Undo, what: str) -> str:
        seen = self.seen[subject.execution_id]
        seen.wrong += self._objections(subject, what)
        seen.bodies.append(what)
        self._running = what
        try:
            receipt = seen.effects.setdefault(subject.idempotency_key, what)
            self._happen()
        finally:  # a process that dies here is not at work any more
            self._running = None
        return receipt

    def _objections(self, subject: Step | Undo, what: str) -> list[str]:
        assert self.durable is not None
        recorded = table.history(self.durable, subject.execution_id)
        back = isinstance(subject, Undo)
        entry = recorded.rollbacks.get(subject.path) if back else recorded.operation(subject.path)
        found = []
        if entry is not None and entry.settled:
            found.append(f"{what} runs again, and is recorded as {entry.status}")
        if self._running is not None:
            found.append(f"{what} begins while {self._running} is running")
        if not back and recorded.rollbacks:
            found.append(f"{what} runs in the middle of the rollback")
        return found

    def _happen(self) -> None:
        if self._after is not None:
            nth, action = self._after
            self._after = (nth - 1, action) if nth > 1 else None
            if nth == 1:
                action()


def incompressible(length: int) -> str:
    """A text of that length which does not compress much; the same for each length."""
    return random.Random(length).randbytes(length // 2 + 1).hex()[:length]
