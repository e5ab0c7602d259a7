"""Conditional writes of a head, as data: what must hold, what is written, and what a refusal says."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from durable.protocol.head import Head, Status


class Where(Struct, frozen=True):
    """Conditions on the head; every one that is given must hold."""

    status: frozenset[Status] | None = None  # is one of these
    revision: int | None = None  # is this
    fence: int | None = None  # is this
    inbox: int | None = None  # is this
    due: int | None = None  # is this
    asleep: bool | None = None  # parked with no wake time, or not
    free_at: int | None = None  # no lease is held at this time
    state: tuple[bytes, str] | None = None  # the document, and the key of its item, are these
    unparked_at: int | None = None  # not parked, or its wake time has come, or a message has


class Update(Struct, frozen=True):
    """One conditional write of a head: `write` sets fields, `add` counts up.

    An empty string or bytes is removed, and so is a zero in a field that may be absent (wake, due, skip_rollback,
    ended, deadline, run, consumed). Counters are always there, for a comparison with what is absent is false.
    """

    execution_id: str
    where: Where
    write: Mapping[str, object] = {}
    add: Mapping[str, int] = {}


class Refused(Struct, frozen=True):
    """A write whose condition did not hold, with the head as it stands; None when there is no such execution."""

    head: Head | None


class Put(Struct, frozen=True):
    """An item of an execution that is written along; None deletes it. `new`: it must not exist yet."""

    key: str
    value: bytes | None
    new: bool = False


class Blocked(Struct, frozen=True):
    """A transaction that did nothing, because of a write that is not the head's: its index, and why."""

    index: int | None  # in the puts, then the writes; None: one of the writes, and the store does not say which
    reason: str


class Segment(Struct, frozen=True):
    """Sealed entries: immutable, and naming their predecessor."""

    key: str
    previous: str
    entries: bytes
