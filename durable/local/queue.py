"""The queue of continuations over SQLite; what waits longer than SQS can delay a message is a schedule."""

from __future__ import annotations

import math

from durable.local.messages import Messages
from durable.local.schedules import Schedule, Schedules
from durable.protocol import receipts
from durable.protocol.continuation import Continuation, name_of
from durable.runtime.ports import Clock
from durable.usercode.durations import later

MAX_DELAY = 900  # seconds; as SQS: what waits longer is scheduled
MAX_HOLD = 43_200  # seconds; as SQS
MAX_REASON = 1_000  # characters
LEAD = 120_000  # milliseconds before the time at which a schedule fires: as EventBridge Scheduler is used
REJECTED = "rejected"


class SqliteQueue:
    """Implements `durable.runtime.ports.Queue` over a queue of continuations and one for rejected messages."""

    def __init__(
        self, messages: Messages, schedules: Schedules, clock: Clock, queue: str, rejected: str = REJECTED
    ) -> None:
        self._messages = messages
        self._schedules = schedules
        self._clock = clock
        self._queue = queue
        self._rejected = rejected

    def send(self, continuation: Continuation, delay: float = 0) -> None:
        """Deliver it after `delay` seconds, up to two minutes early when that is more than 15 minutes."""
        if delay <= MAX_DELAY:
            self._messages.send(self._queue, continuation.encode(), math.ceil(max(delay, 0)))
            return
        moment = (later(self._clock.now(), delay) - LEAD) // 1000 * 1000
        self._schedules.add(Schedule(name_of(continuation), moment, self._queue, continuation.encode(scheduled=True)))

    def is_scheduled(self, continuation: Continuation) -> bool:
        """Return whether there is a schedule of this continuation."""
        return self._schedules.has(name_of(continuation))

    def forget(self, continuation: Continuation) -> None:
        """Take back what was sent to come in more than 15 minutes; nothing happens if it has come, or never was."""
        self._schedules.delete(name_of(continuation))

    def hold(self, receipt: str, seconds: float) -> None:
        """Keep a delivered message invisible for that long; it is then delivered again."""
        self._messages.show(receipts.split(receipt)[1], min(max(math.ceil(seconds), 0), MAX_HOLD))

    def reject(self, body: str, reason: str) -> None:
        """Put a message that no code can handle where a person finds it, with the reason."""
        told = _storable(reason)[:MAX_REASON] or "no reason was given"
        attributes = {"reason": {"DataType": "String", "StringValue": told}}
        self._messages.send(self._rejected, _storable(body) or "(empty)", 0, attributes)


def _storable(text: str) -> str:
    """Return the text with a mark in place of each lone surrogate, which UTF-8 has no bytes for."""
    return text.encode(errors="replace").decode()
