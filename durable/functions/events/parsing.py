"""Turn Lambda's events into what the runtime takes. UnreadableMessage says what is wrong with a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from durable.protocol import receipts
from durable.protocol.continuation import DETAIL_TYPE, SOURCE, Continuation, Delivery, UnreadableMessage, read
from durable.protocol.head import Status

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an execution's status, as the table's stream reports it."""

    execution_id: str
    revision: int
    workflow: str
    version: int
    status: Status
    birth: int = 0  # of the execution; 0: the record does not tell


def is_batch(event: object) -> bool:
    """Return whether an event is a batch of records."""
    return isinstance(event, Mapping) and "Records" in event


def records(event: object, source: str) -> Sequence[Record]:
    """Return the records of a batch; raises UnreadableMessage for an event that is none."""
    found = event.get("Records") if isinstance(event, Mapping) else None
    if not isinstance(found, list) or not all(isinstance(record, Mapping) for record in found):
        raise UnreadableMessage(
            f"not an event of {source}: it has no list of Records. Lambda's own mapping invokes this."
        )
    return found


def message_id(record: Record) -> str:
    """Return the id of an SQS message, by which it is reported as failed."""
    return _text(record, "messageId", "an SQS record")


def body(record: Record) -> str:
    """Return the body of an SQS message."""
    return _text(record, "body", "an SQS record")


def delivery(record: Record, received: int) -> Delivery:
    """Return an SQS record as the delivery of a continuation that was received at this time."""
    return Delivery(
        continuation=continuation(body(record)),
        message_id=message_id(record),
        receipt=receipts.made(str(record.get("eventSourceARN", "")), _text(record, "receiptHandle", "an SQS record")),
        received=received,
    )


def continuation(text: str) -> Continuation:
    """Return the continuation in a message's body: by itself, or as the detail of an EventBridge event.

    A rule's dead letters are whole events, and so is what a rule without an input path delivers.
    """
    event = event_in(text)
    if event is None:
        return read(text)
    if (event.source, event.detail_type) != (SOURCE, DETAIL_TYPE):
        raise UnreadableMessage(
            f"an event '{event.detail_type}' of '{event.source}', not a '{DETAIL_TYPE}' of '{SOURCE}': "
            "the rule that put it into this queue matches too much"
        )
    return read(bytes(event.detail).decode())


class _Perhaps(msgspec.Struct, rename={"detail_type": "detail-type"}):
    detail_type: msgspec.Raw = msgspec.Raw()


class Event(msgspec.Struct, frozen=True, rename={"detail_type": "detail-type"}):
    """The part of an EventBridge event that is used here."""

    id: str
    source: str
    detail_type: str
    detail: msgspec.Raw


def event_in(text: str) -> Event | None:
    """Return the EventBridge event that a text holds; None when it holds something else."""
    if '"detail-type"' not in text:  # nearly every message: not read twice
        return None
    try:
        if not bytes(msgspec.json.decode(text, type=_Perhaps).detail_type):
            return None
    except msgspec.MsgspecError:
        return None
    try:
        return msgspec.json.decode(text, type=Event)
    except msgspec.MsgspecError as error:
        raise UnreadableMessage(f"an EventBridge event that lacks something: {error}") from error


def sequence_number(record: Record) -> str:
    """Return the id of a stream record, by which it is reported as failed."""
    return _text(_image(record, "dynamodb"), "SequenceNumber", "a stream record")


def change(record: Record) -> Change:
    """Return a stream record as the change of an execution's status."""
    image = _image(_image(record, "dynamodb"), "NewImage")
    return Change(
        execution_id=_attribute(image, "pk", "S"),
        revision=_number(image, "revision"),
        workflow=_attribute(image, "workflow", "S"),
        version=_number(image, "version"),
        status=_status(_attribute(image, "status", "S")),
        birth=_number(image, "created") if "created" in image else 0,
    )


def _text(record: Record, name: str, what: str) -> str:
    value = record.get(name)
    if not isinstance(value, str) or not value:
        raise UnreadableMessage(f"{what} without {name}")
    return value


def _image(record: Record, name: str) -> Record:
    value = record.get(name)
    if not isinstance(value, Mapping):
        raise UnreadableMessage(f"a stream record without {name}: the stream's view type must be NEW_AND_OLD_IMAGES")
    return value


def _attribute(image: Record, name: str, kind: str) -> str:
    value = image.get(name)
    text = value.get(kind) if isinstance(value, Mapping) else None
    if not isinstance(text, str):
        raise UnreadableMessage(
            f"a stream record whose item has no {name} of type {kind}: it is not the head of an execution"
        )
    return text


def _status(text: str) -> Status:
    try:
        return Status(text)
    except ValueError as error:
        raise UnreadableMessage(f"a stream record whose status is {text!r}, not one of {', '.join(Status)}") from error


def _number(image: Record, name: str) -> int:
    text = _attribute(image, name, "N")
    if not text.isdecimal():
        raise UnreadableMessage(f"a stream record whose {name} is {text!r}, which is no whole number")
    return int(text)
