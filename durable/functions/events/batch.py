"""A batch of an event source, and the exact answer that Lambda wants: what is named in it comes back, the rest is done.

Powertools' BatchProcessor says "it failed" by an exception only, so that every message which is merely held would be one,
with its trace in the log; and its import costs 20 ms. Here a record is done or not, and an exception is a surprise.
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
"""Deals with one record: whether it is done with. False: it comes back."""
Reject = Callable[[str, str], None]
"""Puts a message that no code can handle where a person finds it: its body, and the reason."""


def messages(event: object, deal: Deal, reject: Reject) -> Answer:
    """Deals with the messages of an SQS batch one after the other: two of one execution never meet (E6).

    A message that can't be read is rejected with the reason, and never comes back. Whatever else one message raises,
    the others are dealt with, and nothing is raised: Lambda would poll less for everybody.
    """
    batch = parsing.records(event, "a queue")
    return _answer([parsing.message_id(record) for record in batch if not _dealt_with(record, deal, reject)])


def changes(event: object, deal: Deal) -> Answer:
    """Deals with the records of a stream's batch, in order, up to the first that fails: from there they come back.

    One that can't be read is left behind: it would block its shard, and the sweeper finds what it was about.
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
        logger.warning("comes back after a fault of the machinery: %s", error, extra=_identity(record))
    except Exception:
        logger.exception("comes back after a fault of ours", extra=_identity(record))
    return False


def _leave(body: str, reason: str) -> None:
    pass


def _answer(failed: Sequence[str]) -> Answer:
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in failed]}


def _identity(record: Record) -> dict[str, object]:
    return {"message_id": record.get("messageId"), "source": record.get("eventSourceARN")}
