"""A short mark of a step's arguments, by which replay sees that they changed (D6)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from durable.codec.refusal import Refusal
from durable.codec.tagged.packing import TAG, pack

_write = msgspec.json.Encoder(order="deterministic").encode


def fingerprint(values: Sequence[object]) -> str | None:
    """16 hexadecimal characters, the same for equal values in every process; None if one of them can't be stored."""
    try:
        text = _write(_ordered(pack(list(values))))
    except Refusal:
        return None
    return blake2b(text, digest_size=8).hexdigest()


def _ordered(tree: Any) -> Any:
    """With the pairs of dicts sorted: a dict that was filled from a set has the order of its hashes."""
    if type(tree) is list:
        return [_ordered(item) for item in tree]
    if type(tree) is not dict:
        return tree
    ordered = {name: _ordered(item) for name, item in tree.items()}
    if ordered.get(TAG) == "dict":
        ordered["value"].sort(key=_write)
    return ordered
