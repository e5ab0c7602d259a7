"""What a replay answers when it can go no further by itself: what it needs, what is to run, or how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from durable.api.calls import StepCall
from durable.api.messages import Sent
from durable.engine.entries import Operation, StepEntry
from durable.errors import HistoryDiverged


class NeedsValue(Struct, frozen=True):
    """A value that is stored elsewhere: provide its bytes."""

    reference: str


class NeedsMessages(Struct, frozen=True):
    """The oldest messages that wait in these queues (None: in any), at most `count`: provide them, or none."""

    queues: Sequence[str] | None
    count: int


class Replies(Struct, frozen=True):
    """The code answers a message: store the response for its sender, then provide None."""

    message: Sent
    response: bytes


class Ready(Struct, frozen=True):
    """A body is to run: settle the step with the entry that comes of it."""

    call: StepCall
    entry: StepEntry
    exhausted: bool = False  # crashes have used its attempts up: it is not to run any more


class Parked(Struct, frozen=True):
    """The code waits until then, or for a message; `entry` is to be recorded with the park."""

    until: int
    entry: Operation | None = None


class Done(Struct, frozen=True):
    """The workflow returned."""

    value: Any


class Failed(Struct, frozen=True):
    """The workflow's code raised."""

    error: BaseException


class Diverged(Struct, frozen=True):
    """The code does not match the history. The error's `__cause__` is what the code raised, if it did."""

    error: HistoryDiverged


class Broken(Struct, frozen=True):
    """A fault of this library in the middle of an operation: it is raised by the replay, never into the code."""

    error: Exception


Need = NeedsValue | NeedsMessages | Replies
Outcome = Need | Ready | Parked | Done | Failed | Diverged


class Note(Struct, frozen=True):
    """An entry to be recorded with the next checkpoint; `first`: before any later body runs."""

    entry: Operation
    first: bool


class Undoable(Struct, frozen=True):
    """A step with a rollback that the code has come by, as a replay for a rollback found it."""

    call: StepCall  # with its rollback's variables and arguments as they were at the call
    entry: StepEntry | None  # None: the frontier, which may have started and left no record
    order: int
