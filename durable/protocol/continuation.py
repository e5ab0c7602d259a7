"""The continuation: the message that brings an execution back. One kind, sent by everybody (protocol rule 1)."""

from __future__ import annotations

from hashlib import sha256

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from durable.codec import formats
from durable.errors import DurableError
from durable.protocol.head import Head

SOURCE = "durable"  # of the event in which a bus carries a continuation; the template's rule matches both
DETAIL_TYPE = "continuation"


class UnreadableMessage(DurableError):
    """A message that no code here can read; it goes to the rejected messages with this reason, and nothing is lost."""


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """Go on with this execution from this revision. What else it says are hints from the head, which never decide."""

    format: int = 1
    execution: str
    revision: int
    workflow: str
    version: int
    phase: str = "forward"
    birth: int | UnsetType = UNSET  # of the execution; unset: it is for whichever has the id

    def encode(self, *, scheduled: bool = False) -> str:
        """Return the message's body; of a scheduled one with the birth, for it may come when the id is used again."""
        return msgspec.json.encode(self if scheduled else replace(self, birth=UNSET)).decode()


class Delivery(Struct, frozen=True):
    """One delivery of a continuation: what it says, and the message's identity and receipt."""

    continuation: Continuation
    message_id: str
    receipt: str
    received: int  # milliseconds since the epoch


def continuation_of(head: Head) -> Continuation:
    """A continuation of the current revision."""
    return Continuation(
        execution=head.execution_id,
        revision=head.revision,
        workflow=head.workflow,
        version=head.version,
        phase=head.phase,
        birth=head.birth,
        format=formats.FORMAT,
    )


def name_of(continuation: Continuation) -> str:
    """Return the name of the schedule that delivers it: one for each revision of a life."""
    return sha256(f"{continuation.execution}#{continuation.birth}#{continuation.revision}".encode()).hexdigest()


def read(body: str) -> Continuation:
    """The continuation that a message holds; raises UnreadableMessage that says what is wrong with it, and NewerFormat."""
    try:
        written = msgspec.json.decode(body, type=_Format).format
    except msgspec.MsgspecError as error:
        raise UnreadableMessage(f"not a continuation: {error}") from error
    formats.checked(written, "a continuation")
    if written < 1:
        raise UnreadableMessage(f"a continuation of format {written}, which there has never been")
    try:
        return msgspec.json.decode(body, type=Continuation)
    except msgspec.MsgspecError as error:
        raise UnreadableMessage(f"a continuation that lacks something: {error}") from error


class _Format(msgspec.Struct):
    format: int
