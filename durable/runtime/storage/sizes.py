"""How large the head item is, by DynamoDB's rule: an update costs a write unit for each started kilobyte of it."""

from __future__ import annotations

from msgspec.structs import fields

from durable.protocol.head import Head

HEAD_LIMIT = 1_000  # bytes; over it the tail is sealed into a segment
STATE_LIMIT = 256  # bytes of the document that ride on the head; a larger one has an item of its own
_NAMES = {field.name: len(field.name) for field in fields(Head)}


def head_size(head: Head) -> int:
    """Bytes of the item: names and values; a number is a byte and one for each two digits."""
    size = len("pk") + len(head.execution_id) + len("sk") + len("head")
    for name, length in _NAMES.items():
        value = getattr(head, name)
        if name == "execution_id" or value in ("", b""):
            continue
        size += length + (len(value) if isinstance(value, (str, bytes)) else len(str(value)) // 2 + 2)
    return size
