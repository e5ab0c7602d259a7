"""How large one stored value may be."""

from __future__ import annotations

from durable.errors import CodecError

MAX_VALUE = 300_000  # bytes of one value: an item holds 400 KB, and a value shares it


def bounded(stored: bytes, what: str) -> bytes:
    """The stored value; raises CodecError that names it when it is too large."""
    if len(stored) > MAX_VALUE:
        raise CodecError(
            f"{what} is {len(stored):,} bytes; at most {MAX_VALUE:,} can be stored. "
            "Put the data where it belongs, and keep its key."
        )
    return stored
