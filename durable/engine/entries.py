"""The entries of a history: the record of one operation each, and how they are stored.

Entries are kept as JSON, compressed: the newest in the tail on the head item, older ones in immutable segments (the
runtime's business). A later entry of one kind and path replaces the earlier; the place in the order of starts stays.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec

from durable import codec
from durable.engine import paths
from durable.errors import ErrorInfo, Kind

FOREVER = 253_402_300_799_000  # a moment that never comes: only a message ends the wait
NOTHING = msgspec.Raw(b"")  # one object: msgspec tells a default by its identity, and leaves it out


class EntryKind(StrEnum):
    """What an entry records."""

    INPUT = "input"
    STEP = "step"
    SLEEP = "sleep"
    QUEUE = "queue"
    REPLY = "reply"
    LOOP = "loop"
    VERSION = "version"
    CHECKPOINT = "checkpoint"
    ROLLBACK = "rollback"
    CAUSE = "cause"  # why the execution fails or was cancelled: what its rollbacks see
    OUTPUT = "output"
    DIVERGENCE = "divergence"  # where the code was found not to match


class EntryStatus(StrEnum):
    """How far an entry has come."""

    COMPLETED = "completed"
    FAILED = "failed"
    RETRYING = "retrying"  # an attempt failed; the next one starts at `until`
    WAITING = "waiting"
    UNFINISHED = "unfinished"  # an attempt has started, and nothing is known of its end


class ErrorRecord(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True):
    """An ErrorInfo as it is stored."""

    type: str
    message: str
    details: dict[str, Any] = {}

    @classmethod
    def of(cls, error: ErrorInfo) -> ErrorRecord:
        """The record of an error."""
        return cls(error.type, error.message, dict(error.details))

    def info(self) -> ErrorInfo:
        """The error as data."""
        return ErrorInfo(self.type, self.message, self.details)


class Entry(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    kw_only=True,
    rename={
        "path": "p",
        "kind": "k",
        "status": "s",
        "order": "o",
        "attempts": "a",
        "marks": "m",
        "started": "b",
        "ended": "e",
        "until": "u",
        "typed": "t",
        "tagged": "g",
        "error": "x",
        "failure": "f",
        "undoable": "r",
        "fingerprint": "h",
        "sensitive": "z",
        "crashed": "c",
        "number": "n",
        "kept_from": "i",
        "memo": "v",
        "memo_kept": "d",
        "boundary": "y",
        "latest": "l",
        "took": "q",
        "kept": "w",
        "inside": "j",
    },
):
    """The record of one operation. Times are milliseconds since the epoch; 0 is none."""

    path: str
    kind: EntryKind = EntryKind.STEP
    status: EntryStatus = EntryStatus.COMPLETED
    order: int = 0  # its place in the order of starts (R5)
    attempts: int = 0  # attempts whose outcome is known
    marks: int = 0  # attempts that were recorded as started and whose outcome is not known (S4, S5)
    started: int = 0
    ended: int = 0
    until: int = 0
    typed: msgspec.Raw = NOTHING  # a value in the codec's typed form …
    tagged: msgspec.Raw = NOTHING  # … or in its tagged form
    kept: str = ""  # the reference of a value that is too large to be here
    error: ErrorRecord | None = None
    failure: Kind | None = None  # how it failed, when that is final
    undoable: bool = False  # the step has a rollback
    fingerprint: str = ""  # of the arguments at the first run (D6)
    sensitive: bool = False
    crashed: bool = False  # an attempt took its process with it: every further start is recorded before the body
    number: int = 0  # of a loop: the iteration that a replay starts from …
    memo: msgspec.Raw = NOTHING  # … the state that it starts with, in the codec's tagged form …
    memo_kept: str = ""  # … or the reference of one that is too large to be here …
    kept_from: int = 0  # … and the first iteration that is kept at all
    boundary: int = 0  # of a loop: the last rollback checkpoint among what it has forgotten
    took: dict[str, list[int]] = {}  # of a queue wait: the numbers of the messages that it took, by queue
    latest: int = 0  # of a loop: the last place in the order of starts that it has seen
    inside: str = ""  # of a reply: the scope where it was given, when that is inside the one of its message

    @property
    def place(self) -> str:
        """Where the code recorded it: its path, but for a reply that was given in a block or loop further in."""
        return f"{self.inside}{paths.SEPARATOR}{self.path}" if self.inside else self.path

    @property
    def settled(self) -> bool:
        """Whether nothing more will be recorded for it."""
        return self.status in (EntryStatus.COMPLETED, EntryStatus.FAILED)

    @property
    def charged(self) -> int:
        """Attempts that count against the retries: the failed ones and those that took their process with them (S4)."""
        return self.attempts + self.marks

    @property
    def stored(self) -> bytes:
        """The value as the codec wrote it; empty when there is none."""
        if self.typed:
            return codec.TYPED + bytes(self.typed)
        if self.tagged:
            return codec.TAGGED + bytes(self.tagged)
        return b""

    @property
    def references(self) -> list[str]:
        """What it holds and is kept elsewhere."""
        found = [self.kept, self.memo_kept]
        if self.kind is EntryKind.QUEUE and self.tagged:
            found += [message.kept for message in _received.decode(self.tagged)]
        return [reference for reference in found if reference]

    @property
    def has_value(self) -> bool:
        """Whether a value is recorded, here or elsewhere."""
        return bool(self.kept or self.typed or self.tagged)

    def value(self, annotation: Any = Any) -> Any:
        """The value that is recorded here."""
        stored = self.stored
        return codec.decode(stored, annotation) if stored else None


class _Received(msgspec.Struct):
    """Of a message that a queue wait took: where its body is, when that is large."""

    kept: str = ""


_received = msgspec.json.Decoder(list[_Received])


def elsewhere(entry: Entry, reference: str) -> Entry:
    """The entry with its value kept elsewhere."""
    return msgspec.structs.replace(entry, kept=reference, typed=NOTHING, tagged=NOTHING)


def memo_elsewhere(entry: Entry, reference: str) -> Entry:
    """The entry with its memo kept elsewhere."""
    return msgspec.structs.replace(entry, memo_kept=reference, memo=NOTHING)


def with_value(entry: Entry, stored: bytes) -> Entry:
    """The entry with a value that the codec wrote."""
    raw = msgspec.Raw(stored[1:])
    if stored[:1] == codec.TYPED:
        return msgspec.structs.replace(entry, typed=raw, tagged=NOTHING)
    return msgspec.structs.replace(entry, tagged=raw, typed=NOTHING)


_decoder = msgspec.json.Decoder(list[Entry])
_encoder = msgspec.json.Encoder()


def pack(entries: Iterable[Entry]) -> bytes:
    """Entries as stored: JSON, compressed."""
    return zlib.compress(_encoder.encode(list(entries)), 6)


def unpack(data: bytes) -> list[Entry]:
    """The entries that `pack` stored."""
    return _decoder.decode(zlib.decompress(data)) if data else []
