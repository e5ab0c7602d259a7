"""The entries of a history: one record for each operation, each kind with the fields that it needs.

Entries are stored as JSON, compressed: the newest on the head item, older ones in segments. A later entry of the same
kind and path replaces the earlier one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import ClassVar, TypeVar

import msgspec
from msgspec import Struct, field

from durable import codec
from durable.api.messages import Sent
from durable.codec import NOTHING, formats
from durable.engine import paths
from durable.engine.recorded import Attempted, EntryKind, EntryStatus, ErrorRecord, HoldsValue, Recorded, Valued
from durable.usercode.durations import FOREVER


class InputEntry(Valued, frozen=True, kw_only=True, tag="input"):
    """The input of the execution."""

    kind: ClassVar = EntryKind.INPUT


class StepEntry(HoldsValue, Attempted, frozen=True, kw_only=True, tag="step"):
    """A step: its attempts and, once it has completed, its result."""

    kind: ClassVar = EntryKind.STEP

    typed: msgspec.Raw = NOTHING
    tagged: msgspec.Raw = NOTHING
    kept: str = ""
    undoable: bool = False  # it has started and has a rollback
    fingerprint: str = ""  # of the arguments at the first run
    arguments: str = ""  # what a message shows of them; only where they are compared
    sensitive: bool = False

    @property
    def has_started(self) -> bool:
        """Whether it is recorded as more than reached."""
        return self.undoable or self.charged > 0


class SleepEntry(Recorded, frozen=True, kw_only=True, tag="sleep"):
    """A sleep: the moment at which it ends."""

    kind: ClassVar = EntryKind.SLEEP

    status: EntryStatus = EntryStatus.COMPLETED
    until: int = 0


class Misfit(Struct, frozen=True, array_like=True):
    """Why the body of a message did not fit the type that the code asked for when it took the message."""

    message: str
    path: str


class QueueEntry(Recorded, frozen=True, kw_only=True, tag="queue"):
    """A wait for messages: until when, and what came."""

    kind: ClassVar = EntryKind.QUEUE

    status: EntryStatus = EntryStatus.COMPLETED
    until: int = 0
    took: dict[str, list[int]] = field(default_factory=dict)  # the numbers of the messages that it took, by queue
    messages: list[Sent] = field(default_factory=list)
    misfits: dict[int, Misfit] = field(default_factory=dict)  # by the place of the message

    @property
    def settled(self) -> bool:
        """Whether it has its messages, or its time is over."""
        return self.status is not EntryStatus.WAITING

    @property
    def references(self) -> list[str]:
        """Where the bodies of large messages are stored."""
        return [message.kept for message in self.messages if message.kept]


class ReplyEntry(Recorded, frozen=True, kw_only=True, tag="reply"):
    """The response to a message was given."""

    kind: ClassVar = EntryKind.REPLY

    inside: str = ""  # the scope where it was given, when that is inside the one of its message


class LoopEntry(Valued, frozen=True, kw_only=True, tag="loop"):
    """A loop: where a replay begins and, once it has ended, its result."""

    kind: ClassVar = EntryKind.LOOP

    status: EntryStatus = EntryStatus.WAITING
    iterations: int = 0  # how many have ended
    first: int = 0  # the iteration that a replay begins with …
    first_clock: int = 0  # … what the clock showed then …
    memo: msgspec.Raw = NOTHING  # … and the state that it begins with, in one of the codec's forms …
    memo_typed: bool = False
    memo_kept: str = ""  # … or the reference of one that is stored elsewhere
    kept_from: int = 0  # the first iteration whose entries are kept
    boundary: int = 0  # the last rollback checkpoint among what it has dropped
    latest: int = 0  # the last place in the order of starts that it has seen

    @property
    def undoable(self) -> bool:
        """Whether it holds iterations whose rollbacks a failure would run."""
        return self.first < self.iterations

    @property
    def settled(self) -> bool:
        """Whether it has ended."""
        return self.status is not EntryStatus.WAITING

    @property
    def state(self) -> bytes:
        """The state that a replay begins with, as the codec wrote it; empty when there is none here."""
        return (codec.TYPED if self.memo_typed else codec.TAGGED) + bytes(self.memo) if self.memo else b""

    @property
    def references(self) -> list[str]:
        """Where its result and the state are stored."""
        return [reference for reference in (self.kept, self.memo_kept) if reference]


class WaitEntry(LoopEntry, frozen=True, kw_only=True, tag="wait_for"):
    """A condition that is waited for: a loop of looks, with a deadline."""

    kind: ClassVar = EntryKind.WAIT_FOR

    until: int = FOREVER
    error: ErrorRecord | None = None  # of one whose time is over


class VersionEntry(Recorded, frozen=True, kw_only=True, tag="version"):
    """Which version of a changed part the execution takes."""

    kind: ClassVar = EntryKind.VERSION

    chosen: int = 1


class CheckpointEntry(Recorded, frozen=True, kw_only=True, tag="checkpoint"):
    """A rollback checkpoint: what started before it is not rolled back."""

    kind: ClassVar = EntryKind.CHECKPOINT


class CauseEntry(Recorded, frozen=True, kw_only=True, tag="cause"):
    """Why the execution fails, or that it was cancelled: what its rollbacks see."""

    kind: ClassVar = EntryKind.CAUSE

    error: ErrorRecord
    cancelled: bool = False


class ChainEntry(Recorded, frozen=True, kw_only=True, tag="chain"):
    """The steps that are rolled back, latest start first; recorded with the first rollback."""

    kind: ClassVar = EntryKind.CHAIN

    paths: list[str] = field(default_factory=list)


class RollbackEntry(Attempted, frozen=True, kw_only=True, tag="rollback"):
    """The rollback of the step at the same path. An empty path stands for the rollback as a whole."""

    kind: ClassVar = EntryKind.ROLLBACK


class OutputEntry(Valued, frozen=True, kw_only=True, tag="output"):
    """What the workflow returned."""

    kind: ClassVar = EntryKind.OUTPUT


class DivergenceEntry(Recorded, frozen=True, kw_only=True, tag="divergence"):
    """Where the code was found not to match the history."""

    kind: ClassVar = EntryKind.DIVERGENCE

    error: ErrorRecord


Operation = StepEntry | SleepEntry | QueueEntry | ReplyEntry | LoopEntry | WaitEntry | VersionEntry | CheckpointEntry
"""The entries of what workflow code asks for."""

Entry = Operation | InputEntry | CauseEntry | ChainEntry | RollbackEntry | OutputEntry | DivergenceEntry

AnyValued = InputEntry | StepEntry | LoopEntry | WaitEntry | OutputEntry
V = TypeVar("V", bound=AnyValued)


def with_value(entry: V, stored: bytes) -> V:
    """Return the entry with a value that the codec wrote."""
    raw = msgspec.Raw(stored[1:])
    if stored[:1] == codec.TYPED:
        return msgspec.structs.replace(entry, typed=raw, tagged=NOTHING)
    return msgspec.structs.replace(entry, tagged=raw, typed=NOTHING)


def elsewhere(entry: V, reference: str) -> V:
    """Return the entry with its value stored elsewhere."""
    return msgspec.structs.replace(entry, kept=reference, typed=NOTHING, tagged=NOTHING)


def memo_elsewhere(entry: LoopEntry, reference: str) -> LoopEntry:
    """Return the entry of a loop with its state stored elsewhere."""
    return msgspec.structs.replace(entry, memo_kept=reference, memo=NOTHING)


def place(entry: Operation) -> str:
    """Return where the code recorded it: its path, but for a reply that was given in a block or loop further in."""
    inside = entry.inside if isinstance(entry, ReplyEntry) else ""
    return f"{inside}{paths.SEPARATOR}{entry.path}" if inside else entry.path


_decoder = msgspec.json.Decoder(list[Entry])
_encoder = msgspec.json.Encoder()


def pack(entries: Iterable[Entry]) -> bytes:
    """Return entries as they are stored: a byte with the format, then JSON, compressed."""
    return bytes([formats.FORMAT]) + zlib.compress(_encoder.encode(list(entries)), 6)


def unpack(data: bytes) -> list[Entry]:
    """Return the entries that `pack` stored; raises NewerFormat."""
    if not data:
        return []
    formats.checked(data[0], "a part of the history")
    return _decoder.decode(zlib.decompress(data[1:]))
