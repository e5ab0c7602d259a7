"""A checkpoint, as an invocation asks for it: what is to be recorded, and how the execution is to go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from msgspec import Struct

from durable.engine.entries import Entry
from durable.protocol.head import Status
from durable.protocol.updates import Put


class Continue(Struct, frozen=True):
    """Keep the lease and go on."""


class GiveBack(Struct, frozen=True):
    """Give the lease back; the next invocation goes on at once."""


class Park(Struct, frozen=True):
    """Give the lease back until this time, in milliseconds since the epoch."""

    until: int
    inbox: int | None = None  # only if this is still the number of messages that were sent


class End(Struct, frozen=True):
    """End, or begin to: failing, completed, failed, cancelled, diverged."""

    status: Status


Next = Continue | GiveBack | Park | End


class Checkpoint(Struct, frozen=True):
    """What an invocation wants to record. A command that came in meanwhile decides how the execution really goes on."""

    entries: Sequence[Entry]
    next: Next
    rollback: bool = False  # made by an invocation that rolls back
    state: bytes = b""  # the changed document; empty: it has not changed
    mark: Entry | None = None  # start of the body about to run; dropped when a command takes the lease back first
    ran: bool = False  # the entries hold the outcome of a body
    writes: Sequence[Put] = ()  # items of the execution, written in the same transaction
    foreign: Sequence[Mapping[str, Any]] = ()  # writes to other tables, likewise

    @property
    def keep(self) -> bool:
        """Whether the lease is to be kept."""
        return isinstance(self.next, Continue)

    @property
    def wake(self) -> int:
        """Until when the execution is to be parked; 0: not at all."""
        return self.next.until if isinstance(self.next, Park) else 0

    @property
    def inbox(self) -> int | None:
        """The number of messages sent that a park depends on; None: it depends on none."""
        return self.next.inbox if isinstance(self.next, Park) else None

    @property
    def status(self) -> Status:
        """The status after it, if no command comes in."""
        match self.next:
            case Continue() | GiveBack():
                return Status.ROLLING_BACK if self.rollback else Status.RUNNING
            case Park():
                return Status.ROLLING_BACK if self.rollback else Status.WAITING
            case End(status=status):
                return status
            case _:
                assert_never(self.next)
