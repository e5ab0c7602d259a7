"""A batch of messages is one entry, and an entry is stored in one item."""

from __future__ import annotations

import base64
from random import Random

import msgspec
import pytest

from durable.api.messages import Sent
from durable.engine.entries import QueueEntry, pack
from durable.runtime.storage.inbox import within_bounds

ITEM = 400_000  # bytes: DynamoDB takes no larger one


def sent(number: int, size: int) -> Sent:
    """A message whose id is as long as it may be, and can't be compressed by much."""
    identity = base64.b64encode(Random(number).randbytes(96)).decode()
    return Sent(id=identity, queue="numbers", number=number, body=msgspec.Raw(b'"%s"' % (b"x" * size)), sent=number)


@pytest.mark.rule("Q2", "S13")
@pytest.mark.parametrize(("count", "size"), [(10_000, 0), (1_000, 1_000), (3, 290_000), (1, 16_000)])
def test_of_however_many_messages_it_takes_as_many_as_fit_from_the_oldest_on(count: int, size: int) -> None:
    messages = [sent(number, size) for number in range(1, count + 1)]

    taken = within_bounds(messages)

    numbers = [message.number for message in taken]
    stored = pack([QueueEntry(path="wait", took={"numbers": numbers}, messages=list(taken))])
    assert (taken, 1 <= len(taken) <= count) == (messages[: len(taken)], True)
    assert len(stored) < ITEM
