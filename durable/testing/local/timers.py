"""The local schedules, and those of the template, as a harness fires them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from durable.local.messages import Messages
from durable.local.schedules import Schedule, Schedules
from durable.runtime.ports import Clock
from durable.testing.sources.timers import Timer, Timers
from durable.testing.template.stack import Queue


@dataclass(frozen=True, slots=True)
class LocalTimers:
    """Implements `durable.testing.sources.pump.Timetable`."""

    schedules: Schedules
    messages: Messages
    clock: Clock
    queues: Mapping[str, Queue]
    group: str  # the name of the group of the continuations' schedules
    template: Timers  # the template's own schedules

    def pending(self) -> list[Timer]:
        """What will fire, soonest first."""
        found = [*map(self._timer, self.schedules.pending()), *self.template.pending()]
        return sorted(found, key=lambda timer: timer.moment)

    def next(self) -> int | None:
        """When the next of those fires that fire once."""
        moments = [moment for moment in (self.schedules.next(), self.template.next()) if moment is not None]
        return min(moments, default=None)

    def ticks(self) -> list[int]:
        """When those fire next that fire again and again, on which nothing rests."""
        return self.template.ticks()

    def fire(self) -> None:
        """Fires what is due."""
        self.template.fire()
        self.schedules.fire(self.messages, self.clock.now())

    def drop(self, timer: Timer) -> None:
        """Loses a schedule: it does not fire any more."""
        self.schedules.delete(timer.name)
        self.template.remove((timer.group, timer.name))

    def _timer(self, schedule: Schedule) -> Timer:
        moment, arn = schedule.moment, self.queues[schedule.queue].arn
        return Timer(self.group, schedule.name, moment, True, arn, schedule.body, True, lambda after: None)
