"""How large the head item is, by DynamoDB's rule: an update costs a write unit for each started kilobyte of it."""

from __future__ import annotations

from msgspec.structs import astuple, fields

from durable.protocol.head import Head

HEAD_LIMIT = 1_000  # bytes; over it the tail is sealed into a segment
STATE_LIMIT = 256  # bytes of the document that ride on the head; a larger one has an item of its own
_KEY = len("pk") + len("sk") + len("head")
_NAMES = tuple(len(field.name) for field in fields(Head)[1:])  # the first is the execution's id, which is the key


def head_size(head: Head) -> int:
    """Bytes of the item: names and values; a number is a byte and one for each two digits."""
    size = _KEY + len(head.execution_id)
    for length, value in zip(_NAMES, astuple(head)[1:], strict=True):
        if type(value) is int:
            size += length + len(str(value)) // 2 + 2
        elif value:
            size += length + len(value)
    return size
