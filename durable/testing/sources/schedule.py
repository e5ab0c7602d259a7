"""EventBridge's schedules: a function invoked at a rate."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from durable.runtime.ports import Clock
from durable.testing.invocations import Invocation
from durable.testing.sources.source import Invoke
from durable.testing.template.definitions import ScheduleSource


@dataclass(slots=True)
class Schedule:
    """Invokes one function every so often, counted from when the stack was made."""

    source: ScheduleSource
    region: str
    clock: Clock
    invoke: Invoke
    began: int
    fired: int = 0  # the last tick at which it invoked, in milliseconds since the epoch

    def tick_from(self, moment: int) -> int:
        """The first tick at or after the moment that has not been fired."""
        every = self.source.every // timedelta(milliseconds=1)
        earliest = max(moment, self.fired + 1, self.began + every)
        return self.began + -(-(earliest - self.began) // every) * every

    def fire(self) -> Invocation:
        """Invokes the function, now."""
        self.fired = self.clock.now()
        return self.invoke(self.source.function, self._event())

    def _event(self) -> Any:
        if self.source.input is not None:
            return json.loads(self.source.input)
        rule = f"arn:aws:events:{self.region}:123456789012:rule/{self.source.name}"
        return {
            "version": "0",
            "id": str(uuid4()),
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": "123456789012",
            "time": f"{datetime.fromtimestamp(self.clock.now() / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "region": self.region,
            "resources": [rule],
            "detail": {},
        }
