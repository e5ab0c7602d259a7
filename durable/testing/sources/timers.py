"""EventBridge Scheduler: schedules, learnt from the calls that make and delete them, put messages into queues in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from durable.errors import ConfigurationError
from durable.runtime.ports import Clock
from durable.testing.sources.recurrence import After, recurrence
from durable.testing.template.stack import Queue

Name = tuple[str, str]  # the group's and the schedule's


CheckRole = Callable[[str, str, str], None]
"""Raises when the role of this ARN does not allow an action on a resource."""


def _nobody_is_checked(role: str, action: str, resource: str) -> None:
    """Allow everything."""


@dataclass(frozen=True, slots=True)
class Timer:
    """A schedule that will fire."""

    group: str
    name: str
    moment: int  # when, in milliseconds since the epoch
    once: bool
    target: str  # ARN of a queue
    input: str
    deleted: bool  # by itself, once it has fired for the last time
    after: After = field(repr=False, compare=False)
    role: str = ""  # ARN of what the scheduler acts as
    dead_letters: str = ""  # ARN of the queue for what can't be delivered


@dataclass(slots=True)
class Timers:
    """The schedules that there are. Each fires at the very moment that it names; AWS takes up to a minute more."""

    clock: Clock
    queues: Mapping[str, Queue]
    put: Callable[[Queue, str], None]  # a message into a queue
    forget: Callable[[Timer], None]  # a schedule: it is not there any more
    check_role: CheckRole = _nobody_is_checked
    _timers: dict[Name, Timer] = field(default_factory=dict)

    def add(self, name: Name, settings: Mapping[str, Any]) -> None:
        """A schedule was made, with these settings of CreateSchedule. One of the past fires at once."""
        expression, target = settings["ScheduleExpression"], settings["Target"]
        now, once = self.clock.now(), expression.startswith("at(")
        after = recurrence(expression, settings.get("ScheduleExpressionTimezone", "UTC"), now)
        moment = after(now - 1)
        if moment is None and not once:
            return
        self._timers[name] = Timer(
            *name,
            now if moment is None else moment,
            once,
            target["Arn"],
            target.get("Input", "{}"),
            settings.get("ActionAfterCompletion") == "DELETE",
            after,
            target.get("RoleArn", ""),
            target.get("DeadLetterConfig", {}).get("Arn", ""),
        )

    def remove(self, name: Name) -> None:
        """A schedule was deleted."""
        self._timers.pop(name, None)

    def drop(self, timer: Timer) -> None:
        """Loses a schedule: it does not fire any more."""
        self.remove((timer.group, timer.name))
        self.forget(timer)

    def pending(self) -> list[Timer]:
        """What will fire, soonest first."""
        return sorted(self._timers.values(), key=lambda timer: timer.moment)

    def next(self) -> int | None:
        """When the next of those fires that fire once."""
        return next((timer.moment for timer in self.pending() if timer.once), None)

    def ticks(self) -> list[int]:
        """When those fire next that fire again and again, on which nothing rests."""
        return [timer.moment for timer in self.pending() if not timer.once]

    def fire(self) -> None:
        """Fires what is due."""
        now = self.clock.now()
        for timer in self.pending():
            if timer.moment > now:
                return
            self._fire(timer)

    def _fire(self, timer: Timer) -> None:
        queue = next((queue for queue in self.queues.values() if queue.arn == timer.target), None)
        if queue is None:
            raise ConfigurationError(
                f"the schedule {timer.name} delivers to {timer.target}, which is no queue of the template."
            )
        for arn in filter(None, (timer.target, timer.dead_letters)):
            self.check_role(timer.role, "sqs:SendMessage", arn)
        self.put(queue, _filled(timer))
        following = timer.after(timer.moment)
        if following is not None:
            self._timers[timer.group, timer.name] = replace(timer, moment=following)
            return
        del self._timers[timer.group, timer.name]
        if timer.deleted:
            self.forget(timer)


def _filled(timer: Timer) -> str:
    """The input, with what the scheduler puts into it."""
    moment = datetime.fromtimestamp(timer.moment / 1000, UTC)
    return timer.input.replace("<aws.scheduler.scheduled-time>", f"{moment:%Y-%m-%dT%H:%M:%SZ}")
