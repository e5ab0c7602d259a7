"""The queue over SQS: a standard queue of continuations, and one for messages that no code can handle."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from durable.aws.errors import boundary, code
from durable.protocol import receipts
from durable.protocol.continuation import Continuation

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

logger = logging.getLogger("durable.sqs")

MAX_DELAY = 900  # seconds; SQS delays a message no longer
MAX_HOLD = 43_200  # seconds; SQS keeps a message invisible for 12 hours, counted from when it was received
MAX_BYTES = 1024 * 1024  # of a message: body and attributes
MAX_REASON = 1_000  # characters
ATTRIBUTE_BYTES = 256  # generous, for the names and types of a message's attributes
GONE = frozenset({"ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"})
UNSENDABLE = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # not of XML 1.0; compiled when it is needed


class SqsQueue:
    """Implements `durable.runtime.ports.Queue`. `client` is called when the queue is first needed."""

    def __init__(self, queue_url: str, client: Callable[[], SQSClient], rejected_url: str = "") -> None:
        self._queue_url = queue_url
        self._client = client
        self._rejected_url = rejected_url  # a client has none: it rejects nothing

    def send(self, continuation: Continuation, delay: float = 0) -> None:
        """Deliver it after `delay` seconds; a longer delay than the queue can hold is delivered early."""
        with boundary(f"send a continuation of execution '{continuation.execution}'"):
            self._client().send_message(
                QueueUrl=self._queue_url,
                MessageBody=continuation.encode(),
                DelaySeconds=whole_seconds(delay, MAX_DELAY),
            )

    def forget(self, continuation: Continuation) -> None:
        """Do nothing: a message can't be taken back. It will come, find that its execution has moved on, and be deleted."""

    def hold(self, receipt: str, seconds: float) -> None:
        """Keep a delivered message invisible for that long; it is then delivered again."""
        queue, handle = receipts.split(receipt)
        with boundary("hold a message"):
            try:
                self._client().change_message_visibility(
                    QueueUrl=self._url_of(queue),
                    ReceiptHandle=handle,
                    VisibilityTimeout=whole_seconds(seconds, MAX_HOLD),
                )
            except ClientError as error:
                if code(error) not in GONE:
                    raise
                # Deleted, or visible again: if it still exists, it comes back by itself.
                logger.info("a message could not be held", extra={"reason": str(error)})

    def reject(self, body: str, reason: str) -> None:
        """Send a message that no code can handle to the rejected queue, with the reason."""
        told = sendable(reason)[:MAX_REASON] or "no reason was given"
        kept = cut(sendable(body) or "(empty)", MAX_BYTES - ATTRIBUTE_BYTES - len(told.encode()))
        with boundary("reject a message"):
            self._client().send_message(
                QueueUrl=self._rejected_url,
                MessageBody=kept,
                MessageAttributes={"reason": {"DataType": "String", "StringValue": told}},
            )

    def _url_of(self, queue: str) -> str:
        """Return the URL of a queue by its name: it is in the same account and Region as the other."""
        return f"{self._queue_url.rpartition('/')[0]}/{queue}" if queue else self._queue_url


def whole_seconds(seconds: float, most: int) -> int:
    """Return the seconds rounded up, so that nothing comes too early, and within what SQS accepts."""
    return min(max(math.ceil(seconds), 0), most)


def sendable(text: str) -> str:
    """Return the text with the characters replaced that SQS refuses: those that XML 1.0 does not have."""
    return re.sub(UNSENDABLE, "\ufffd", text)


def cut(text: str, size: int) -> str:
    """Return as much of the text as fits into `size` bytes of UTF-8."""
    encoded = text.encode()
    return text if len(encoded) <= size else encoded[:size].decode(errors="ignore")
