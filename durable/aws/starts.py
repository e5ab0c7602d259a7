"""What a message of the start queue says: which workflow to start, and with what."""

from __future__ import annotations

from typing import Any

import msgspec

from durable.aws import events
from durable.aws.events import Record
from durable.runtime.continuation import UnreadableMessage


class StartMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`input` is JSON as it was written; the id is the message's own unless it brings another."""

    workflow: str
    input: msgspec.Raw = msgspec.Raw()
    execution_id: str | None = None
    version: int | None = None


def start_message(record: Record) -> StartMessage:
    """The start that an SQS record asks for; raises UnreadableMessage, which names the field."""
    try:
        return msgspec.json.decode(events.body(record), type=StartMessage)
    except msgspec.MsgspecError as error:
        raise UnreadableMessage(
            f'not a start: {error}. It is {{"workflow": name, "input": JSON, "execution_id": optional, "version": optional}}'
        ) from error


def input_of(text: bytes) -> Any:
    """Input as the client takes it: JSON text, or None where there is none."""
    return None if text.strip() in (b"", b"null") else text
