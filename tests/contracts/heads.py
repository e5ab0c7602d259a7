"""Heads and segments of the contract's tests."""

from __future__ import annotations

from random import Random
from typing import Any

from msgspec import structs

from durable.codec import formats
from durable.protocol import keys
from durable.protocol.head import Head, Status
from durable.protocol.updates import Segment
from durable.usercode.durations import FOREVER

BIRTH = 1_000
NEW = Head("order-1", Status.PENDING, "checkout", 2, created=BIRTH, digest="abc", list_key="checkout#open#1")


def full(execution_id: str = "order-2", **changes: Any) -> Head:
    """A head of which no field is empty, also of those that are added some day."""
    values: dict[str, Any] = {}
    for place, field in enumerate(structs.fields(Head), start=1):
        by_type: dict[object, Any] = {int: 100 + place, str: field.name, bytes: f"\0\xff{field.name}".encode("latin-1")}
        values[field.name] = by_type.get(type(field.default), 100 + place)
    certain = {
        "execution_id": execution_id,
        "status": Status.WAITING,
        "workflow": "checkout",
        "created": BIRTH,
        "format": formats.FORMAT,
    }
    return Head(**{**values, **certain, **changes})


HELD = Head("order-2", Status.WAITING, "checkout", 3, BIRTH, revision=4, fence=5, lease=6, inbox=3, seen=3)
"""Claimed, and not parked."""


def sealed(number: int, fence: int, previous: str = "", entries: bytes | None = None) -> Segment:
    """A sealed segment."""
    content = f"{number}/{fence}".encode() if entries is None else entries
    return Segment(keys.segment(BIRTH, number, fence, 0), previous, content)


def anyhow(chance: Random) -> Head:
    """A head whose fields have one of few values each, so that conditions on them often hold."""

    def small() -> int:
        return chance.randrange(3)

    return Head(
        f"order-{chance.random()}",
        chance.choice(list(Status)),
        "checkout",
        1,
        created=BIRTH + small(),
        revision=small(),
        fence=small(),
        lease=small(),
        wake=chance.choice([0, 1, 2, FOREVER]),
        inbox=small(),
        seen=small(),
        due=small(),
        due_shard="3",
        state=chance.choice([b"", b"one"]),
        state_at=chance.choice(["", "state#1"]),
    )
