"""The pump: delivers what is due, one batch at a time, and knows when the next will be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from durable.errors import InvalidCall
from durable.runtime.ports import Clock
from durable.testing.invocations import Invocation
from durable.testing.sources.messages import Mailbox
from durable.testing.sources.queue import Batch, QueuePoller
from durable.testing.sources.schedule import Schedule
from durable.testing.sources.stream import StreamReader
from durable.testing.sources.timers import Timer

SWEEPER = "Sweeper"  # the function whose schedule is skipped while nothing is due in the index


class Due(Protocol):
    """Looks at the due index."""

    def __call__(self, *, open_only: bool) -> int | None:
        """The earliest due time in it; of those that go on by themselves, or of the ended too (their purge)."""


class Timetable(Protocol):
    """Schedules that put messages into queues."""

    def pending(self) -> Sequence[Timer]:
        """What will fire, soonest first."""

    def next(self) -> int | None:
        """When the next of those fires that fire once."""

    def ticks(self) -> Sequence[int]:
        """When those fire next that fire again and again, on which nothing rests."""

    def fire(self) -> None:
        """Fires what is due."""

    def drop(self, timer: Timer) -> None:
        """Loses a schedule: it does not fire any more."""


@dataclass(frozen=True, slots=True)
class Pump:
    """Every event source of a stack."""

    clock: Clock
    mail: Mailbox
    due: Due
    queues: Sequence[QueuePoller]
    streams: Sequence[StreamReader]
    schedules: Sequence[Schedule]
    timers: Timetable

    def deliver(self) -> Invocation | None:
        """Delivers one batch that is due now; None when nothing is. Queues come first: streams lag behind."""
        self.timers.fire()
        while pollers := self._due_pollers():
            if batch := pollers[0].poll():
                return batch.deliver()
        return self._deliver_stream()

    def take(self, queue: str) -> Batch | None:
        """Receives the next batch of this queue without delivering it."""
        pollers = [poller for poller in self.queues if poller.queue.id == queue]
        if not pollers:
            polled = ", ".join(poller.queue.id for poller in self.queues)
            raise InvalidCall(f"no function of the template polls the queue {queue!r}; they poll {polled}.")
        return pollers[0].poll()

    def fire(self) -> Sequence[Invocation]:
        """Invokes what is scheduled for exactly now; the sweeper only when it would find something."""
        now = self.clock.now()
        return [schedule.fire() for schedule in self.schedules if self._idle_tick(schedule) == now]

    def next(self, until: int | None) -> int | None:
        """The next moment at which something is due: a message, a stream's retry, a schedule that fires once, a tick.

        What ticks for ever keeps nothing going by itself: it counts up to `until` only. The sweeper's tick counts when an
        execution that goes on by itself is due in the index: then a message was lost, or will be.
        """
        found = [self.mail.next(frozenset(poller.queue.id for poller in self.queues))]
        found += [self.timers.next(), *(reader.next() for reader in self.streams)]
        for schedule in self.schedules:
            if schedule.source.function == SWEEPER:
                due = self.due(open_only=True)
                found.append(None if due is None else schedule.tick_from(max(due, self.clock.now())))
        horizon = max([moment for moment in (*found, until) if moment is not None], default=None)
        if horizon is not None:
            ticks = [*map(self._idle_tick, self.schedules), *self.timers.ticks()]
            found += [tick for tick in ticks if tick is not None and tick <= horizon]
        return min((moment for moment in found if moment is not None), default=None)

    def _idle_tick(self, schedule: Schedule) -> int | None:
        """The next tick of a schedule, on which nothing rests."""
        now = self.clock.now()
        if schedule.source.function != SWEEPER:
            return schedule.tick_from(now)
        due = self.due(open_only=False)
        return None if due is None else schedule.tick_from(max(due, now))

    def _due_pollers(self) -> list[QueuePoller]:
        return [poller for queue in self.mail.due() for poller in self.queues if poller.queue.id == queue]

    def _deliver_stream(self) -> Invocation | None:
        for reader in self.streams:
            if invocation := reader.deliver():
                return invocation
        return None
