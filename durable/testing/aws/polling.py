"""Receives from and sends to SQS, as Lambda and other services do."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import md5
from typing import TYPE_CHECKING, Any

from durable.testing.aws.mail import Mail, handle_of
from durable.testing.sources.messages import SENDER, Message, Record, message_attribute
from durable.testing.template.stack import Queue

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

_MOST_AT_ONCE = 10  # messages that one ReceiveMessage gives


@dataclass(frozen=True, slots=True)
class SqsPolling:
    """Implements `durable.testing.sources.messages.Polling`."""

    sqs: SQSClient
    mail: Mail
    region: str
    unrecorded: Callable[[], AbstractContextManager[None]] = nullcontext  # polling is Lambda's own business

    def put(self, queue: Queue, body: str) -> None:
        """Put a message into a queue."""
        with self.unrecorded():
            self.sqs.send_message(QueueUrl=queue.url, MessageBody=body)

    def receive(self, queue: Queue, count: int) -> list[Record]:
        """Receive up to so many visible messages: they are invisible for the queue's time."""
        records: list[Record] = [self._copied(queue, message) for message in self.mail.take_copies(queue.id, count)]
        with self.unrecorded():
            while len(records) < count:
                wanted = min(_MOST_AT_ONCE, count - len(records))
                received = self.sqs.receive_message(
                    QueueUrl=queue.url,
                    MaxNumberOfMessages=wanted,
                    WaitTimeSeconds=0,  # a long poll would wait for a clock that stands still
                    MessageSystemAttributeNames=["All"],
                    MessageAttributeNames=["All"],
                ).get("Messages", [])
                records.extend(self._record(queue, message) for message in received)
                if len(received) < wanted:
                    break
        return records

    def delete(self, queue: Queue, records: Sequence[Record]) -> None:
        """Delete received messages."""
        with self.unrecorded():
            for record in records:
                self.sqs.delete_message(QueueUrl=queue.url, ReceiptHandle=record["receiptHandle"])

    def show(self, queue: Queue, record: Record) -> None:
        """Make a received message visible again."""
        with self.unrecorded():
            self.sqs.change_message_visibility(
                QueueUrl=queue.url, ReceiptHandle=record["receiptHandle"], VisibilityTimeout=0
            )

    def _record(self, queue: Queue, message: MessageTypeDef) -> dict[str, Any]:
        attributes = {str(name): value for name, value in message.get("Attributes", {}).items()}
        waiting = self.mail.find(message["MessageId"])
        if waiting is not None and waiting.origin:
            attributes["DeadLetterQueueSourceArn"] = waiting.origin
        record = {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": attributes,
            "messageAttributes": _attributes(message.get("MessageAttributes", {})),
            "md5OfBody": message["MD5OfBody"],
        }
        if "MD5OfMessageAttributes" in message:
            record["md5OfMessageAttributes"] = message["MD5OfMessageAttributes"]
        return record | {"eventSource": "aws:sqs", "eventSourceARN": queue.arn, "awsRegion": self.region}

    def _copied(self, queue: Queue, message: Message) -> dict[str, Any]:
        return {
            "messageId": message.id,
            "receiptHandle": handle_of(message),
            "body": message.body,
            "attributes": {
                "ApproximateReceiveCount": str(message.received),
                "SentTimestamp": str(message.sent),
                "SenderId": SENDER,
                "ApproximateFirstReceiveTimestamp": str(self.mail.clock.now()),
            },
            "messageAttributes": _attributes(message.attributes),
            "md5OfBody": md5(message.body.encode(), usedforsecurity=False).hexdigest(),
            "eventSource": "aws:sqs",
            "eventSourceARN": queue.arn,
            "awsRegion": self.region,
        }


def _attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in values.items():
        binary = value.get("BinaryValue")
        text = base64.b64encode(binary).decode() if isinstance(binary, bytes) else binary
        found[name] = message_attribute(value, text)
    return found
