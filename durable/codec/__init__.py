"""Values to bytes for storage and back, exact in value and type (S12), with no pickle anywhere.

One leading byte tells the form; what follows is JSON text, so that it can be embedded in a history entry as it is:

    t   typed: msgspec reads it by the annotation, when that is closed and the value came back exactly
    g   tagged: plain JSON, save that an object with "~" is what JSON lacks: {"~": "decimal", "value": "1.50"}

Typed values survive new fields with defaults and classes that are renamed or moved; tagged ones survive new fields.
"""

from __future__ import annotations

from durable.codec.bounds import MAX_VALUE, bounded
from durable.codec.fingerprints import fingerprint
from durable.codec.forms import NOTHING, TAGGED, decode, encode, settle
from durable.codec.incoming.fit import check
from durable.codec.incoming.inputs import accept
from durable.codec.incoming.outside import keep_text, read_by
from durable.codec.typed import TYPED
from durable.codec.view import plain

__all__ = [
    "MAX_VALUE",
    "NOTHING",
    "TAGGED",
    "TYPED",
    "accept",
    "bounded",
    "check",
    "decode",
    "encode",
    "fingerprint",
    "keep_text",
    "plain",
    "read_by",
    "settle",
]
