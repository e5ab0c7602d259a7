"""The head of an execution: the one item that says where it stands, and holds the newest part of its history.

The names of the fields are the names of the stored attributes: short, for an update costs a write unit for each started
kilobyte of the whole item.
"""

from __future__ import annotations

import zlib
from enum import StrEnum

from msgspec import Struct

ROLLBACK_FAILED = "failed"
SHARDS = 8  # of the sparse indexes: one partition takes 1,000 writes a second


class Status(StrEnum):
    """Where an execution stands (E1)."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    FAILING = "failing"
    CANCELLING = "cancelling"
    ROLLING_BACK = "rolling_back"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TERMINATED = "terminated"
    DIVERGED = "diverged"


FORWARD = frozenset({Status.PENDING, Status.RUNNING, Status.WAITING})
ENDING = frozenset({Status.FAILING, Status.CANCELLING, Status.ROLLING_BACK})
TERMINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.TERMINATED})
AT_REST = frozenset({Status.PAUSED, Status.DIVERGED})  # nothing happens until somebody resumes it


class Head(Struct, frozen=True):
    """One execution. Times are milliseconds since the epoch; 0 is none."""

    execution_id: str
    status: Status
    workflow: str
    version: int
    created: int
    format: int = 1  # what is newer than the code is left alone
    digest: str = ""  # of the input: a repeated start must bring the same (E2)
    revision: int = 0  # counts checkpoints; a continuation is for one revision
    fence: int = 0  # counts claims; a stale holder's writes are refused (E4)
    lease: int = 0  # until when the holder may work; 0 when nobody holds it
    message: str = ""  # the SQS message whose delivery claimed it last
    asked: str = ""  # the identities of the last writes of clients, one after the other
    nonce: str = ""  # of the last claim or checkpoint: a refused write whose nonce stands was applied
    claimed: int = 0  # when the last forward claim was
    claims: int = 0  # forward claims since the last checkpoint …
    undoing: int = 0  # … and rollback claims
    dead: int = 0  # dead letters since the last progress
    wake: int = 0  # parked until then; 0: not parked; FOREVER: until a message comes
    inbox: int = 0  # messages sent to it
    seen: int = 0  # the inbox when it parked
    consumed: int = 0  # messages that the workflow has taken
    taken: str = ""  # the number of the last one taken, by queue, as JSON
    due: int = 0  # when the sweeper is to look at it
    due_shard: str = ""
    list_key: str = ""
    tail: bytes = b""  # the entries that are not sealed
    segment: str = ""  # the key of the last sealed segment
    segments: int = 0  # how many there are
    state: bytes = b""  # the document, when it is small …
    state_at: str = ""  # … or the key of the item that holds it
    resume_to: str = ""  # at rest: the status to go back to
    skip_rollback: int = 0  # cancelled without rollback
    rollback: str = ""  # ended, and the rollback has failed: ROLLBACK_FAILED, in clear for the stream's filter (R10)
    ended: int = 0  # when it became terminal
    purging: int = 0  # until when one process may delete it
    deadline: int = 0  # when the execution's own timeout is over
    run: int = 0  # how often it was restarted

    @property
    def birth(self) -> int:
        """What tells this execution from others of the same id: the time at which it was created."""
        return self.created

    @property
    def life(self) -> str:
        """What its identities are made of: no other execution has it, not even one of the same id."""
        return f"{self.execution_id}#{self.created}"

    @property
    def terminal(self) -> bool:
        """Whether this status is final."""
        return self.status in TERMINAL

    @property
    def phase(self) -> str:
        """Which kind of claim moves it on: `forward` or `rollback`."""
        return "rollback" if self.status in ENDING else "forward"

    @property
    def unaccounted(self) -> int:
        """Claims of this phase since the last checkpoint: above zero, and unheld, some invocation has died."""
        return self.undoing if self.status in ENDING else self.claims

    def held(self, now: int) -> bool:
        """Whether somebody holds the lease."""
        return self.lease > now

    def parked(self, now: int) -> bool:
        """Whether it waits for a time or a message, and neither has come."""
        return self.wake > now and self.inbox <= self.seen


def shard(execution_id: str) -> str:
    """The index shard of an execution."""
    return str(zlib.crc32(execution_id.encode()) % SHARDS)


def list_key(workflow: str, execution_id: str, *, is_open: bool) -> str:
    """The key of an execution in the list index: it changes once in its life, when it ends."""
    return f"{workflow}#{'open' if is_open else 'closed'}#{shard(execution_id)}"
