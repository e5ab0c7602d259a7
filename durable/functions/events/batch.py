"""Handle the records of a batch, and answer Lambda with those that failed: they come back, the others are done.

Powertools' BatchProcessor takes an exception as the only sign of failure, so every message that is merely held would be one,
with its traceback in the log; and its import costs 20 ms.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from durable.errors import StoreError
from durable.functions.events import parsing
from durable.functions.events.parsing import Record
from durable.protocol.continuation import UnreadableMessage

logger = logging.getLogger("durable.batch")

Answer = dict[str, list[dict[str, str]]]
Deal = Callable[[Record], bool]
"""Handles one record; returns whether it is done. False: it comes back."""
Reject = Callable[[str, str], None]
"""Sends the body of a message that no code can handle to the rejected queue, with the reason."""


def messages(event: object, deal: Deal, reject: Reject) -> Answer:
    """Handle the messages of an SQS batch one after the other: two of one execution never run at the same time (E6).

    A message that can't be read is rejected with the reason, and never comes back. Whatever else one message raises,
    the others are handled, and nothing is raised: Lambda would poll less often for all.
    """
    batch = parsing.records(event, "a queue")
    return _answer([parsing.message_id(record) for record in batch if not _dealt_with(record, deal, reject)])


def changes(event: object, deal: Deal) -> Answer:
    """Handle the records of a stream's batch in order, up to the first that fails: from there they come back.

    One that can't be read is skipped: it would block its shard. The sweeper finds its execution.
    """
    for record in parsing.records(event, "a stream"):
        if not _dealt_with(record, deal, _leave):
            return _answer([parsing.sequence_number(record)])
    return _answer([])


def _dealt_with(record: Record, deal: Deal, reject: Reject) -> bool:
    try:
        try:
            return deal(record)
        except UnreadableMessage as reason:
            logger.error("a message was rejected: %s", reason, extra=_identity(record))
            reject(str(record.get("body", "")), str(reason))
            return True
    except StoreError as error:
        logger.warning("comes back after a fault of the infrastructure: %s", error, extra=_identity(record))
    except Exception:
        logger.exception("comes back after a fault of ours", extra=_identity(record))
    return False


def _leave(body: str, reason: str) -> None:
    pass


def _answer(failed: Sequence[str]) -> Answer:
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in failed]}


def _identity(record: Record) -> dict[str, object]:
    return {"message_id": record.get("messageId"), "source": record.get("eventSourceARN")}
