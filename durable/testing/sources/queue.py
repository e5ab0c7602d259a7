"""Lambda's SQS event source mapping: receives a batch, invokes, deletes what did not fail."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import md5
from typing import TYPE_CHECKING, Any

from durable.testing.aws.mail import Mail, Message
from durable.testing.invocations import Invocation
from durable.testing.sources.source import ALL, Invoke, failed_items
from durable.testing.template.definitions import QueueSource
from durable.testing.template.stack import Queue

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

_MOST_AT_ONCE = 10  # messages that one ReceiveMessage gives
_SENDER = "AIDAEXAMPLEEXAMPLEEX"


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages that were received for the function, and are not yet delivered."""

    poller: QueuePoller
    records: Sequence[Mapping[str, Any]]

    @property
    def bodies(self) -> list[str]:
        """The messages' bodies."""
        return [record["body"] for record in self.records]

    def invoke(self) -> Invocation:
        """Invokes the function with the batch and leaves the messages as they are: call it twice for a duplicate."""
        return self.poller.invoke(self.poller.source.function, {"Records": self.records})

    def settle(self, invocation: Invocation) -> None:
        """Deletes what the invocation did not report as failed; the rest comes back when it is visible again."""
        identifiers = {record["messageId"]: record for record in self.records}
        failed = failed_items(invocation, identifiers, partial=self.poller.source.partial_failures)
        if failed is not ALL:
            self.poller.delete([record for record in self.records if record["messageId"] not in failed])

    def deliver(self) -> Invocation:
        """Invokes and settles."""
        invocation = self.invoke()
        self.settle(invocation)
        return invocation

    def lose(self) -> None:
        """The messages are gone, and no function ever saw them."""
        self.poller.delete(self.records)

    def release(self) -> None:
        """Puts the messages back, visible at once."""
        for record in self.records:
            self.poller.show(record)


@dataclass(frozen=True, slots=True)
class QueuePoller:
    """Polls one queue for one function."""

    source: QueueSource
    queue: Queue
    region: str
    sqs: SQSClient
    mail: Mail
    invoke: Invoke
    unrecorded: Callable[[], AbstractContextManager[None]]  # polling is Lambda's own business

    def poll(self) -> Batch | None:
        """The next batch; None when nothing is visible."""
        with self.unrecorded():
            records = self._receive()
        return Batch(self, records) if records else None

    def _receive(self) -> list[dict[str, Any]]:
        records = [self._copied(message) for message in self.mail.take_copies(self.queue.id, self.source.batch_size)]
        while len(records) < self.source.batch_size:
            wanted = min(_MOST_AT_ONCE, self.source.batch_size - len(records))
            received = self.sqs.receive_message(
                QueueUrl=self.queue.url,
                MaxNumberOfMessages=wanted,
                WaitTimeSeconds=0,  # a long poll would wait for a clock that stands still
                MessageSystemAttributeNames=["All"],
                MessageAttributeNames=["All"],
            ).get("Messages", [])
            records.extend(self._record(message) for message in received)
            if len(received) < wanted:
                break
        return records

    def delete(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Deletes the messages."""
        with self.unrecorded():
            for record in records:
                self.sqs.delete_message(QueueUrl=self.queue.url, ReceiptHandle=record["receiptHandle"])

    def show(self, record: Mapping[str, Any]) -> None:
        """Makes a message visible again."""
        with self.unrecorded():
            self.sqs.change_message_visibility(
                QueueUrl=self.queue.url, ReceiptHandle=record["receiptHandle"], VisibilityTimeout=0
            )

    def _record(self, message: MessageTypeDef) -> dict[str, Any]:
        attributes = {str(name): value for name, value in message.get("Attributes", {}).items()}
        waiting = self.mail.find(message["MessageId"])
        if waiting is not None and waiting.origin:
            attributes["DeadLetterQueueSourceArn"] = waiting.origin
        record = {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": attributes,
            "messageAttributes": {
                name: _message_attribute(value) for name, value in message.get("MessageAttributes", {}).items()
            },
            "md5OfBody": message["MD5OfBody"],
        }
        if "MD5OfMessageAttributes" in message:
            record["md5OfMessageAttributes"] = message["MD5OfMessageAttributes"]
        return record | {"eventSource": "aws:sqs", "eventSourceARN": self.queue.arn, "awsRegion": self.region}

    def _copied(self, message: Message) -> dict[str, Any]:
        return {
            "messageId": message.id,
            "receiptHandle": message.handle,
            "body": message.body,
            "attributes": {
                "ApproximateReceiveCount": str(message.received),
                "SentTimestamp": str(message.sent),
                "SenderId": _SENDER,
                "ApproximateFirstReceiveTimestamp": str(self.mail.clock.now()),
            },
            "messageAttributes": {name: _message_attribute(value) for name, value in message.attributes.items()},
            "md5OfBody": md5(message.body.encode(), usedforsecurity=False).hexdigest(),
            "eventSource": "aws:sqs",
            "eventSourceARN": self.queue.arn,
            "awsRegion": self.region,
        }


def _message_attribute(value: Any) -> dict[str, Any]:
    attribute: dict[str, Any] = {"stringListValues": [], "binaryListValues": [], "dataType": value["DataType"]}
    if "StringValue" in value:
        attribute["stringValue"] = value["StringValue"]
    if "BinaryValue" in value:
        binary = value["BinaryValue"]
        attribute["binaryValue"] = base64.b64encode(binary).decode() if isinstance(binary, bytes) else binary
    return attribute
