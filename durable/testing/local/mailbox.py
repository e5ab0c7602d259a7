"""The local queues, as Lambda and the harness see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import md5
from typing import Any

from durable.local import messages
from durable.local.messages import Messages
from durable.runtime.ports import Clock
from durable.testing.sources.messages import SENDER, Message, Record, message_attribute
from durable.testing.template.stack import REGION, Queue


class LocalMailbox:
    """Implements `durable.testing.sources.messages.Mailbox` and `Polling`. Queues are called by their logical ids."""

    def __init__(self, queued: Messages, queues: Mapping[str, Queue], clock: Clock) -> None:
        self.duplicates = 0  # how many copies each message that is sent from now on gets
        self.sent: list[Message] = []
        self._messages = queued
        self._queues = queues
        self._clock = clock
        queued.listeners.append(self._was_sent)

    # --- looking -----------------------------------------------------------------------------------------------------

    def waiting(self, queue: str | None = None) -> list[Message]:
        """What is in the queue (or in any), soonest visible first; the invisible too."""
        return [self._shown(message) for message in self._messages.waiting(queue)]

    def due(self) -> list[str]:
        """The queues that have something visible, the longest waiting first."""
        now = self._clock.now()
        return [queue for moment, queue in self._messages.firsts(list(self._queues)) if moment <= now]

    def next(self, queues: frozenset[str]) -> int | None:
        """When a message of these queues becomes visible."""
        return next((moment for moment, _ in self._messages.firsts(list(queues))), None)

    def duplicate(self, message: Message, visible: int) -> Message:
        """A second delivery of the message, at this time, under the same id."""
        origin = next((queue.id for queue in self._queues.values() if message.origin == queue.arn), "")
        copied = messages.Message(
            0, message.id, message.queue, message.body, message.attributes, message.sent, 0, 0, 0, origin, 0
        )
        return self._shown(self._messages.copy(copied, visible))

    # --- polling -----------------------------------------------------------------------------------------------------

    def put(self, queue: Queue, body: str) -> None:
        """Put a message into a queue."""
        self._messages.send(queue.id, body)

    def receive(self, queue: Queue, count: int) -> list[Record]:
        """Receive up to so many visible messages: they are invisible for the queue's time."""
        return [self._record(queue, message) for message in self._messages.receive(queue.id, count)]

    def delete(self, queue: Queue, records: Sequence[Record]) -> None:
        """Delete received messages."""
        for record in records:
            self._messages.delete(record["receiptHandle"])

    def show(self, queue: Queue, record: Record) -> None:
        """Make a received message visible again."""
        self._messages.show(record["receiptHandle"], 0)

    def _was_sent(self, message: messages.Message) -> None:
        self.sent.append(self._shown(message))
        for _ in range(self.duplicates):
            self._messages.copy(message, message.visible)

    def _shown(self, message: messages.Message) -> Message:
        return Message(
            message.queue,
            message.id,
            message.body,
            message.attributes,
            message.sent,
            message.visible,
            self._queues[message.origin].arn if message.origin else "",
            message.copy,
            message.received,
        )

    def _record(self, queue: Queue, message: messages.Message) -> Record:
        attributes = {
            "ApproximateReceiveCount": str(message.received),
            "SentTimestamp": str(message.sent),
            "SenderId": SENDER,
            "ApproximateFirstReceiveTimestamp": str(message.first),
        }
        if message.origin:
            attributes["DeadLetterQueueSourceArn"] = self._queues[message.origin].arn
        record: dict[str, Any] = {
            "messageId": message.id,
            "receiptHandle": message.receipt,
            "body": message.body,
            "attributes": attributes,
            "messageAttributes": {name: message_attribute(value) for name, value in message.attributes.items()},
            "md5OfBody": md5(message.body.encode(), usedforsecurity=False).hexdigest(),
            "eventSource": "aws:sqs",
            "eventSourceARN": queue.arn,
            "awsRegion": REGION,
        }
        return record
