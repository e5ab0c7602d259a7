"""EventBridge Scheduler: schedules, learnt from the calls that make and delete them, put messages into queues in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from durable.errors import ConfigurationError
from durable.runtime.ports import Clock
from durable.testing.aws.wire import Answer, Request
from durable.testing.sources.recurrence import After, recurrence
from durable.testing.template.stack import Queue

if TYPE_CHECKING:
    from mypy_boto3_scheduler import EventBridgeSchedulerClient
    from mypy_boto3_sqs import SQSClient

Name = tuple[str, str]  # the group's and the schedule's


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


@dataclass(slots=True)
class Timers:
    """The schedules that there are. Each fires at the very moment that it names; AWS takes up to a minute more."""

    clock: Clock
    queues: Mapping[str, Queue]
    sqs: SQSClient
    scheduler: EventBridgeSchedulerClient
    unrecorded: Callable[[], AbstractContextManager[None]]  # firing is the scheduler's own business
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
        )

    def after(self, request: Request, answer: Answer) -> None:
        """Takes note of a call."""
        if request.service != "scheduler" or answer.error is not None:
            return
        match request.operation:
            case "CreateSchedule":
                self.add(schedule_of(request), request.parameters)
            case "DeleteSchedule":
                self._timers.pop(schedule_of(request), None)

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
            with self.unrecorded():
                self._fire(timer)

    def _fire(self, timer: Timer) -> None:
        queue = next((queue for queue in self.queues.values() if queue.arn == timer.target), None)
        if queue is None:
            raise ConfigurationError(
                f"the schedule {timer.name} delivers to {timer.target}, which is no queue of the template."
            )
        self.sqs.send_message(QueueUrl=queue.url, MessageBody=_filled(timer))
        following = timer.after(timer.moment)
        if following is not None:
            self._timers[timer.group, timer.name] = replace(timer, moment=following)
            return
        del self._timers[timer.group, timer.name]
        if timer.deleted:
            self.scheduler.delete_schedule(GroupName=timer.group, Name=timer.name)


def schedule_of(request: Request) -> Name:
    """The schedule that a call is about: the scheduler has names in the path, and groups in the body or the query."""
    url = urlsplit(request.url)
    group = request.parameters.get("GroupName") or parse_qs(url.query).get("groupName", ["default"])[0]
    return str(group), unquote(url.path.rpartition("/")[2])


def _filled(timer: Timer) -> str:
    """The input, with what the scheduler puts into it."""
    moment = datetime.fromtimestamp(timer.moment / 1000, UTC)
    return timer.input.replace("<aws.scheduler.scheduled-time>", f"{moment:%Y-%m-%dT%H:%M:%SZ}")
