"""Settings of the adapters, as plain values: they need no AWS package."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedules:
    """Where schedules are made, and where they deliver to."""

    group: str  # name
    role: str  # ARN of what the scheduler acts as
    queue: str  # ARN of the queue of continuations
    rejected: str = ""  # ARN of the queue for what can't be delivered
