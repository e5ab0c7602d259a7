"""Read requests for a start. They come as

    {"workflow": name, "input": JSON, "execution_id": optional, "version": optional}

in a message or as an event; the execution's id is that of the message or of the invocation, unless it gives one. Or

    {"detail-type": ..., "source": ..., "id": ..., "detail": <the above>}

as an EventBridge event, whose id is the default. The template's rule turns any event into the first form, with the event's id.
"""

from __future__ import annotations

from typing import Any

import msgspec

from durable.functions.events import parsing
from durable.protocol.continuation import UnreadableMessage


class Start(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request for a start; `input` is JSON as it was written."""

    workflow: str
    input: msgspec.Raw = msgspec.Raw()
    execution_id: str | None = None
    version: int | None = None


def start(text: str, identity: str) -> tuple[Start, str]:
    """Return the start that a text asks for, and the execution's id; raises UnreadableMessage, which names the field."""
    event = parsing.event_in(text)
    asked, default = (text, identity) if event is None else (bytes(event.detail), event.id)
    try:
        wanted = msgspec.json.decode(asked, type=Start)
    except msgspec.MsgspecError as error:
        raise UnreadableMessage(
            f'not a start: {error}. It is {{"workflow": name, "input": JSON, "execution_id": optional, "version": optional}}'
        ) from error
    return wanted, wanted.execution_id or default


def input_of(text: bytes) -> Any:
    """Return the input as the client takes it: JSON text, or None where there is none."""
    return None if text.strip() in (b"", b"null") else text
