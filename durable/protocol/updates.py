"""Conditional writes of a head, as data: what must hold, what is written, and what a refusal says."""

from __future__ import annotations

from typing import TypedDict

from msgspec import Struct

from durable.errors import DurableError
from durable.protocol.head import Head, Status


class Where(Struct, frozen=True):
    """Conditions on the head; every one that is given must hold, and its format must not be newer than this code's."""

    status: frozenset[Status] | None = None  # is one of these
    revision: int | None = None  # is this
    fence: int | None = None  # is this
    inbox: int | None = None  # is this
    due: int | None = None  # is this
    asleep: bool | None = None  # parked with no wake time, or not
    free_at: int | None = None  # no lease is held at this time
    state: tuple[bytes, str] | None = None  # the document, and the key of its item, are these
    unparked_at: int | None = None  # not parked, or its wake time has come, or a message has
    birth: int | None = None  # of the execution is this
    asked: str | None = None  # the identities of the last writes of clients are these
    unpurged_at: int | None = None  # no process may be deleting it at this time


class Changes(TypedDict, total=False):
    """The fields of a head that a write sets."""

    format: int
    status: Status
    resume_to: str
    revision: int
    lease: int
    message: str
    nonce: str
    asked: str
    claimed: int
    claims: int
    undoing: int
    dead: int
    wake: int
    seen: int
    consumed: int
    taken: str
    due: int
    due_shard: str
    list_key: str
    tail: bytes
    segment: str
    segments: int
    state: bytes
    state_at: str
    skip_rollback: int
    rollback: str
    ended: int
    purging: int


class Counts(TypedDict, total=False):
    """The fields of a head that a write counts up."""

    revision: int
    fence: int
    claims: int
    undoing: int
    inbox: int
    dead: int


class Update(Struct, frozen=True):
    """One conditional write of a head: `write` sets fields, `add` counts up.

    An empty string or bytes is removed, and so is a zero in a field that may be absent (see `Head`). Counters are always
    there, for a comparison with what is absent is false.
    """

    execution_id: str
    where: Where
    write: Changes = {}
    add: Counts = {}


class HasEnded(DurableError):
    """A write was about to be made from the head of an execution that has ended: a fault of this library."""

    def __init__(self, head: Head) -> None:
        super().__init__(f"execution '{head.execution_id}' is {head.status}: nothing may be written to it any more")


def open_head(head: Head) -> Head:
    """Return the head; raises HasEnded for one that is terminal, from which no write may ever be made."""
    if head.terminal:
        raise HasEnded(head)
    return head


class Refused(Struct, frozen=True):
    """A write whose condition did not hold, with the head as it stands; None when there is no such execution."""

    head: Head | None


class Put(Struct, frozen=True):
    """An item of an execution that is written along; None deletes it. `new`: it must not exist yet."""

    key: str
    value: bytes | None
    new: bool = False
    expires: int = 0  # when the store may delete it by itself, in milliseconds since the epoch; 0: never


class Blocked(Struct, frozen=True):
    """A transaction that did nothing, because of a write that is not the head's: its index, and why."""

    index: int | None  # in the puts, then the writes; None: one of the writes, and the store does not say which
    reason: str
    invalid: bool = False  # it can't be carried out, whenever it is tried: no condition of it is to blame


class Segment(Struct, frozen=True):
    """Sealed entries: immutable, and naming their predecessor."""

    key: str
    previous: str
    entries: bytes
