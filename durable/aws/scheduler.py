"""Long waits by EventBridge Scheduler: a one-shot schedule sends the continuation shortly before its time.

The scheduler fires at some moment of its minute and can't delay what it sends. So the message comes up to two minutes early,
and is held for the rest of the time, as every early one is (protocol rule 3).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from durable.aws.errors import boundary, code
from durable.aws.settings import Schedules as Schedules
from durable.aws.sqs import MAX_DELAY
from durable.protocol.continuation import Continuation
from durable.protocol.continuation import name_of as name_of
from durable.runtime.ports import Clock, Queue
from durable.usercode.durations import FOREVER, later

if TYPE_CHECKING:
    from mypy_boto3_scheduler import EventBridgeSchedulerClient
    from mypy_boto3_scheduler.type_defs import TargetTypeDef

LEAD = 120_000  # milliseconds before the time at which the schedule fires: its own minute, and one for the way
TRIES = 185  # as often, and
AGE = 86_400  # for as many seconds as the scheduler can


class ScheduledQueue:
    """Implements `durable.runtime.ports.Queue` over another one: what waits longer than a queue can is scheduled."""

    def __init__(
        self, queue: Queue, schedules: Schedules, client: Callable[[], EventBridgeSchedulerClient], clock: Clock
    ) -> None:
        self._queue = queue
        self._schedules = schedules
        self._client = client
        self._clock = clock

    def send(self, continuation: Continuation, delay: float = 0) -> None:
        """Deliver it after `delay` seconds, up to two minutes early when that is more than 15 minutes."""
        if delay <= MAX_DELAY:
            self._queue.send(continuation, delay)
            return
        with boundary(f"schedule a continuation of execution '{continuation.execution}'"):
            try:
                self._client().create_schedule(
                    GroupName=self._schedules.group,
                    Name=name_of(continuation),
                    ScheduleExpression=at(later(self._clock.now(), delay) - LEAD),
                    ScheduleExpressionTimezone="UTC",
                    FlexibleTimeWindow={"Mode": "OFF"},
                    ActionAfterCompletion="DELETE",
                    Target=self._target(continuation),
                )
            except ClientError as error:
                if code(error) != "ConflictException":  # sent before: the schedule is there
                    raise

    def forget(self, continuation: Continuation) -> None:
        """Delete the schedule of a continuation that was to come in more than 15 minutes, if it is still there."""
        with boundary(f"delete the schedule of execution '{continuation.execution}'"):
            try:
                self._client().delete_schedule(GroupName=self._schedules.group, Name=name_of(continuation))
            except ClientError as error:
                if code(error) != "ResourceNotFoundException":
                    raise

    def hold(self, receipt: str, seconds: float) -> None:
        """Keep a delivered message invisible for that long; it is then delivered again."""
        self._queue.hold(receipt, seconds)

    def reject(self, body: str, reason: str) -> None:
        """Send a message that no code can handle to the rejected queue, with the reason."""
        self._queue.reject(body, reason)

    def _target(self, continuation: Continuation) -> TargetTypeDef:
        target: TargetTypeDef = {
            "Arn": self._schedules.queue,
            "RoleArn": self._schedules.role,
            "Input": continuation.encode(scheduled=True),
            "RetryPolicy": {"MaximumEventAgeInSeconds": AGE, "MaximumRetryAttempts": TRIES},
        }
        if self._schedules.rejected:
            target["DeadLetterConfig"] = {"Arn": self._schedules.rejected}
        return target


def at(moment: int) -> str:
    """Return the expression of a schedule, rounded up to whole seconds: the scheduler knows no fractions."""
    return f"at({datetime.fromtimestamp(min(moment, FOREVER) // 1000, UTC):%Y-%m-%dT%H:%M:%S})"
