"""Messages in queues, as a harness shows them, and what it needs of whatever holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from durable.testing.template.stack import Queue

Record = Mapping[str, Any]
"""A message as Lambda's SQS event has it."""

SENDER = "AIDAEXAMPLEEXAMPLEEX"


@dataclass(frozen=True, slots=True)
class Message:
    """A message in a queue."""

    queue: str  # logical id
    id: str  # SQS's messageId
    body: str
    attributes: Mapping[str, Any]  # message attributes, as they were sent
    sent: int  # milliseconds since the epoch
    visible: int  # when a receive can get it
    origin: str = ""  # ARN of the queue that it was dead-lettered from
    copy: int = 0  # above zero: a duplicate that SQS itself might have made
    received: int = 0  # how often, of copies


class Mailbox(Protocol):
    """What is in the queues of a deployment. Looking is no call: it has no number, and no fault can meet it."""

    duplicates: int  # how many copies each message that is sent from now on gets

    @property
    def sent(self) -> Sequence[Message]:
        """Every message that was ever sent, in order."""

    def waiting(self, queue: str | None = None) -> Sequence[Message]:
        """What is in the queue (or in any), soonest visible first; the invisible too."""

    def due(self) -> Sequence[str]:
        """The queues that have something visible, the longest waiting first."""

    def next(self, queues: frozenset[str]) -> int | None:
        """When a message of these queues becomes visible."""

    def duplicate(self, message: Message, visible: int) -> Message:
        """A second delivery of the message, at this time, under the same id."""


class Polling(Protocol):
    """What Lambda and other services do with a queue: none of this is a call of a function."""

    def put(self, queue: Queue, body: str) -> None:
        """Put a message into a queue."""

    def receive(self, queue: Queue, count: int) -> Sequence[Record]:
        """Receive up to so many visible messages: they are invisible for the queue's time."""

    def delete(self, queue: Queue, records: Sequence[Record]) -> None:
        """Delete received messages."""

    def show(self, queue: Queue, record: Record) -> None:
        """Make a received message visible again."""


def message_attribute(value: Mapping[str, Any], binary: str | None = None) -> dict[str, Any]:
    """An attribute of a message as Lambda has it; `binary` is its value as base64, if it is binary."""
    attribute: dict[str, Any] = {"stringListValues": [], "binaryListValues": [], "dataType": value["DataType"]}
    if "StringValue" in value:
        attribute["stringValue"] = value["StringValue"]
    if binary is not None:
        attribute["binaryValue"] = binary
    return attribute
