"""What the entries of a history are made of: their kinds and states, and the fields that several kinds share."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from durable import codec
from durable.codec import NOTHING
from durable.errors import ErrorInfo, Kind


class EntryKind(StrEnum):
    """What an entry records."""

    INPUT = "input"
    STEP = "step"
    SLEEP = "sleep"
    QUEUE = "queue"
    REPLY = "reply"
    LOOP = "loop"
    WAIT_FOR = "wait_for"
    VERSION = "version"
    CHECKPOINT = "checkpoint"
    CAUSE = "cause"
    CHAIN = "chain"
    ROLLBACK = "rollback"
    OUTPUT = "output"
    DIVERGENCE = "divergence"


class EntryStatus(StrEnum):
    """How far an operation has come."""

    COMPLETED = "completed"
    FAILED = "failed"
    RETRYING = "retrying"  # an attempt failed; the next one starts at `until`
    WAITING = "waiting"
    UNFINISHED = "unfinished"  # an attempt may have started, and nothing is known of its end


class ErrorRecord(Struct, frozen=True, omit_defaults=True, array_like=True):
    """An ErrorInfo as it is stored."""

    type: str
    message: str
    details: dict[str, Any] = {}

    @classmethod
    def of(cls, error: ErrorInfo) -> ErrorRecord:
        """Return the record of an error."""
        return cls(error.type, error.message, dict(error.details))

    def info(self) -> ErrorInfo:
        """Return the error as data."""
        return ErrorInfo(self.type, self.message, self.details)


NAMES: Mapping[str, str] = {  # every byte of an entry is paid for at each write of the head that it rides on
    "path": "p",
    "order": "o",
    "started": "b",
    "ended": "e",
    "status": "s",
    "until": "u",
    "attempts": "a",
    "marks": "m",
    "crashed": "c",
    "error": "x",
    "failure": "f",
    "typed": "t",
    "tagged": "g",
    "kept": "w",
    "undoable": "r",
    "fingerprint": "h",
    "arguments": "v",
    "sensitive": "z",
    "messages": "n",
    "misfits": "i",
    "took": "q",
    "inside": "j",
    "iterations": "n",
    "first": "i",
    "first_clock": "l",
    "memo": "v",
    "memo_typed": "m",
    "memo_kept": "d",
    "kept_from": "y",
    "boundary": "kb",
    "latest": "q",
    "paths": "n",
    "cancelled": "n",
    "chosen": "n",
}


class Recorded(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="k", rename=NAMES):
    """What every entry has. Times are milliseconds since the epoch; 0 is none."""

    kind: ClassVar[EntryKind]

    path: str = ""
    order: int = 0  # its place in the order in which operations started
    started: int = 0
    ended: int = 0

    @property
    def settled(self) -> bool:
        """Whether nothing more will be recorded for it."""
        return True

    @property
    def references(self) -> list[str]:
        """The references of what it holds and is stored elsewhere."""
        return []


class Attempted(Recorded, frozen=True, kw_only=True, omit_defaults=True):
    """The attempts of a body: a step's, or a rollback's."""

    status: EntryStatus = EntryStatus.UNFINISHED
    attempts: int = 0  # attempts whose outcome is known
    marks: int = 0  # attempts that were recorded as started and whose outcome is not known
    crashed: bool = False  # a process died with it: every further start is recorded before the body runs
    until: int = 0  # when the next attempt may start
    error: ErrorRecord | None = None
    failure: Kind | None = None  # how it failed, when that is final

    @property
    def settled(self) -> bool:
        """Whether nothing more will be recorded for it."""
        return self.status in (EntryStatus.COMPLETED, EntryStatus.FAILED)

    @property
    def charged(self) -> int:
        """The attempts that count against the retries: those that ended, and those that a process died in."""
        return self.attempts + self.marks


class HoldsValue:
    """What an entry with a value can say of it; the value is in one of two forms of the codec, or stored elsewhere."""

    __slots__ = ()

    typed: msgspec.Raw
    tagged: msgspec.Raw
    kept: str

    @property
    def stored(self) -> bytes:
        """The value as the codec wrote it; empty when there is none here."""
        if self.typed:
            return codec.TYPED + bytes(self.typed)
        if self.tagged:
            return codec.TAGGED + bytes(self.tagged)
        return b""

    @property
    def has_value(self) -> bool:
        """Whether a value is recorded, here or elsewhere."""
        return bool(self.kept or self.typed or self.tagged)

    @property
    def references(self) -> list[str]:
        """The reference of its value, if that is stored elsewhere."""
        return [self.kept] if self.kept else []


class Valued(HoldsValue, Recorded, frozen=True, kw_only=True, omit_defaults=True):
    """An entry with a value."""

    typed: msgspec.Raw = NOTHING
    tagged: msgspec.Raw = NOTHING
    kept: str = ""
