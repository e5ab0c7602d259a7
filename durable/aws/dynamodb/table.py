"""The table's items as pynamodb models: what an attribute is called, which type it has, when it is there.

The models (de)serialise attributes and make expressions. They have no `Meta`, for the table's name is the deployment's:
requests.py puts requests together for a table, and sends them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pynamodb.attributes import Attribute, BinaryAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.constants import STRING
from pynamodb.models import Model

from durable.codec import formats
from durable.protocol.head import Head, Status
from durable.protocol.keys import HEAD
from durable.protocol.updates import Segment

DUE_INDEX = "due"
# Absent when zero. Counters that a condition compares are always there: a comparison with what is absent is false.
OPTIONAL = frozenset({"wake", "due", "skip_rollback", "ended", "deadline", "run", "consumed", "undoing", "purging"})

Attributes = Mapping[str, Any]


class StatusAttribute(Attribute[Status]):
    """A status, in clear: the stream's filter reads it."""

    attr_type = STRING

    def serialize(self, value: Any) -> str:
        """The status as text."""
        return Status(value).value

    def deserialize(self, value: Any) -> Status:
        """The status of this text."""
        return Status(value)


class HeadItem(Model):
    """The head of an execution; its attributes are the fields of `Head`."""

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True, default=HEAD)
    status = StatusAttribute()
    workflow = UnicodeAttribute()
    version = NumberAttribute()
    created = NumberAttribute()
    format = NumberAttribute()
    digest = UnicodeAttribute(null=True)
    revision = NumberAttribute()
    fence = NumberAttribute()
    lease = NumberAttribute()
    message = UnicodeAttribute(null=True)
    nonce = UnicodeAttribute(null=True)
    claimed = NumberAttribute()
    claims = NumberAttribute()
    undoing = NumberAttribute(null=True)
    dead = NumberAttribute()
    wake = NumberAttribute(null=True)
    inbox = NumberAttribute()
    seen = NumberAttribute()
    due = NumberAttribute(null=True)
    due_shard = UnicodeAttribute(null=True)
    list_key = UnicodeAttribute(null=True)
    tail = BinaryAttribute(null=True, legacy_encoding=False)
    segment = UnicodeAttribute(null=True)
    segments = NumberAttribute()
    state = BinaryAttribute(null=True, legacy_encoding=False)
    state_at = UnicodeAttribute(null=True)
    resume_to = UnicodeAttribute(null=True)
    skip_rollback = NumberAttribute(null=True)
    rollback = UnicodeAttribute(null=True)
    ended = NumberAttribute(null=True)
    purging = NumberAttribute(null=True)
    asked = UnicodeAttribute(null=True)
    run = NumberAttribute(null=True)
    consumed = NumberAttribute(null=True)
    taken = UnicodeAttribute(null=True)
    deadline = NumberAttribute(null=True)


class SegmentItem(Model):
    """Sealed entries."""

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    entries = BinaryAttribute(legacy_encoding=False)
    previous = UnicodeAttribute(null=True)


class ValueItem(Model):
    """A value that has an item of its own."""

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    value = BinaryAttribute(legacy_encoding=False)
    expires = NumberAttribute(null=True)  # seconds since the epoch: DynamoDB deletes it some time after (time to live)


def is_absent(name: str, value: object) -> bool:
    """Whether a field of this value is left out of the item."""
    return value in ("", b"") or (value == 0 and name in OPTIONAL)


def head_item(head: Head) -> dict[str, Any]:
    """The item of a head, as the client wants it."""
    fields = {name: getattr(head, name) for name in HeadItem.get_attributes() if name not in ("pk", "sk")}
    stored = {name: value for name, value in fields.items() if not is_absent(name, value)}
    return HeadItem(pk=head.execution_id, **stored).serialize()


def head_of(item: Attributes) -> Head:
    """The head that an item holds; raises NewerFormat."""
    formats.checked(int(item.get("format", {}).get("N", 1)), f"execution '{item['pk']['S']}'")
    stored = HeadItem()
    stored.deserialize(dict(item))
    fields: dict[str, Any] = {
        name: value for name, value in stored.attribute_values.items() if name not in ("pk", "sk")
    }
    return Head(execution_id=stored.pk, **fields)


def value_item(pk: str, sk: str, value: bytes, expires: int) -> dict[str, Any]:
    """The item of a value, as the client wants it; `expires` in milliseconds, 0: never."""
    return ValueItem(pk, sk, value=value, expires=-(-expires // 1000) or None).serialize()


def segment_of(item: Attributes) -> Segment:
    """The segment that an item holds."""
    stored = SegmentItem()
    stored.deserialize(dict(item))
    return Segment(stored.sk, stored.previous or "", stored.entries)
