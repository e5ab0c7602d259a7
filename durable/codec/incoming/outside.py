"""JSON text from outside whose reader is not known yet: stored as it was written, and read by the annotation of its reader.

Parsed at once, a number would lose the digits that a float does not hold, though its reader wants a Decimal. It is a tag
of the tagged form, so that it can be wherever a value is: {"~": "text", "value": <the JSON>}.
"""

from __future__ import annotations

from typing import Any

import msgspec

from durable.codec.forms import TAGGED, decode
from durable.codec.incoming.inputs import accept
from durable.errors import CodecError

_BEFORE = TAGGED + b'{"~":"text","value":'
_AFTER = b"}"


def keep_text(text: bytes) -> bytes:
    """Return JSON text as it is stored; raises CodecError for what is no JSON."""
    try:
        return _BEFORE + msgspec.json.format(text, indent=-1) + _AFTER
    except msgspec.DecodeError as error:
        raise CodecError(f"not JSON: {error}") from error


def read_by(stored: bytes, annotation: Any) -> tuple[bool, Any]:
    """Return whether it is text from outside, and its value by the annotation; else the value as it was stored.

    Raises InvalidInput for text that does not fit the annotation.
    """
    if stored.startswith(_BEFORE):
        return True, accept(stored[len(_BEFORE) : -len(_AFTER)], annotation)
    return False, decode(stored)
