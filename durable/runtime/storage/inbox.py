"""Which messages of an execution were taken: a count, and a mark for each queue, on the head.

A mark says up to which number the messages of a queue were taken. It keeps a message that was taken, and whose item a
crash has left, from being taken again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import json

from durable.api.messages import Sent
from durable.codec import MAX_VALUE
from durable.engine.entries import Entry, QueueEntry
from durable.protocol import keys
from durable.protocol.head import Head
from durable.runtime.ports import Store

MARKS = 12  # queues of which the head says up to which message they were taken
LEFTOVERS = 25  # messages of a queue that are looked at together


def consumed(head: Head, recorded: Sequence[Entry]) -> tuple[int, dict[str, int]]:
    """Return how many messages were taken once these entries are recorded, and up to which number of each queue."""
    count, taken = head.consumed, taken_of(head)
    for entry in recorded:
        if isinstance(entry, QueueEntry):
            for queue, numbers in entry.took.items():
                count += len(numbers)
                taken[queue] = max(numbers)
    return count, taken


def took(entry: Entry, message: Sent) -> bool:
    """Return whether an entry says that a message was taken."""
    return isinstance(entry, QueueEntry) and message.number in entry.took.get(message.queue, ())


def taken_keys(recorded: Sequence[Entry]) -> list[str]:
    """Return the keys of the messages that these entries have taken."""
    found = [entry.took for entry in recorded if isinstance(entry, QueueEntry)]
    return [keys.message(queue, number) for each in found for queue, numbers in each.items() for number in numbers]


def taken_of(head: Head) -> dict[str, int]:
    """Return up to which number the messages of each queue were taken, as far as the head remembers."""
    return json.decode(head.taken, type=dict[str, int]) if head.taken else {}


def packed(taken: Mapping[str, int]) -> str:
    """Return the marks as they are stored."""
    return json.encode(taken).decode() if taken else ""


def waiting(
    store: Store, head: Head, noted: Sequence[Entry], queues: Sequence[str] | None, count: int
) -> Sequence[Sent]:
    """Return the oldest messages that wait, and that no entry has taken."""
    arrived, taken = consumed(head, noted)
    if head.inbox <= arrived:
        return ()
    after = None if queues is None else {queue: taken.get(queue, 0) for queue in queues}
    found = store.waiting(head.execution_id, after, count)
    fresh = [message for message in found if message.number > taken.get(message.queue, 0)]
    return within_bounds(sorted(fresh, key=lambda message: message.number)[:count])


def within_bounds(messages: Sequence[Sent]) -> Sequence[Sent]:
    """Return as many of the messages, from the oldest, as one entry can hold; the rest goes on waiting."""
    size = 0
    for at, message in enumerate(messages):
        size += len(json.encode(message))  # with its id: of very many small ones that is the most of it
        if at and size > MAX_VALUE:
            return messages[:at]
    return messages


def fewer_marks(store: Store, head: Head, taken: dict[str, int]) -> dict[str, int]:
    """Return the marks without those of the queues that were served longest ago, when there are too many.

    What a crash may have left of their messages is deleted first. An execution may well use a new queue for each of its
    thousand questions.
    """
    if len(taken) <= MARKS:
        return taken
    recorded = taken_of(head)
    settled = [queue for queue, mark in recorded.items() if taken[queue] == mark]  # what is about to be taken stays
    oldest = sorted(settled, key=taken.__getitem__)[: -(MARKS // 2)]
    _delete_left(store, head, {queue: taken[queue] for queue in oldest})
    return {queue: mark for queue, mark in taken.items() if queue not in oldest}


def _delete_left(store: Store, head: Head, marks: Mapping[str, int]) -> None:
    while True:
        found = store.waiting(head.execution_id, dict.fromkeys(marks, 0), LEFTOVERS)
        taken = [message for message in found if message.number <= marks[message.queue]]
        left = [keys.message(message.queue, message.number) for message in taken]
        if not left:
            return
        store.drop(head.execution_id, left)
