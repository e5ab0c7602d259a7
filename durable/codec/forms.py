"""The two forms, and which of them a value takes."""

from __future__ import annotations

from typing import Any

import msgspec

from durable.codec.incoming.annotations import shown
from durable.codec.incoming.misfit import located
from durable.codec.refusal import Refusal
from durable.codec.tagged.packing import TAG, pack
from durable.codec.tagged.unpacking import unpack
from durable.codec.typed import TYPED, read, typed
from durable.errors import CodecError, is_failure

TAGGED = b"g"
NOTHING = msgspec.Raw(b"")  # no value: one object, for msgspec leaves a default out by its identity
_ANY_TAG = f'"{TAG}"'.encode()
_write = msgspec.json.Encoder().encode
_parse = msgspec.json.Decoder().decode


def settle(value: object, annotation: Any = Any) -> tuple[bytes, Any]:
    """The value's bytes, and what replay will return for them: equal, and never the same mutable object (D3)."""
    form = typed(annotation)
    if form is not None and (settled := form.settle(value)) is not None:
        return settled
    data, again = _tag(value)
    if form is not None and (settled := form.settle(again)) is not None:
        return settled  # tags complete a dataclass that left a field to its class's default
    return data, again


def encode(value: object, annotation: Any = Any) -> bytes:
    """The value's bytes; raises CodecError, with the path in the value, for what can't be stored."""
    return settle(value, annotation)[0]


def decode(data: bytes, annotation: Any = Any) -> Any:
    """The value of these bytes.

    Typed bytes need the annotation of their time, or one that took its place; without any they give their plain JSON.
    """
    form, text = data[:1], data[1:]
    try:
        if form == TAGGED:
            return _untag(text)
        if form == TYPED:
            return read(text, annotation)
    except Refusal as refusal:
        raise refusal.as_error() from refusal.__cause__
    except BaseException as error:  # damaged, of another shape by now, or a __post_init__ that refuses it
        if not is_failure(error):
            raise
        reason, path = located(error)
        of = "JSON" if form == TAGGED else shown(annotation)
        raise CodecError(f"{path} can't be read back as {of}: {reason}", path) from error
    raise CodecError(f"$ starts with {form!r}, which is no form that this version can read")


def _tag(value: object) -> tuple[bytes, Any]:
    try:
        text = _write(pack(value))
        return TAGGED + text, _untag(text)
    except Refusal as refusal:
        raise refusal.as_error() from refusal.__cause__


def _untag(text: bytes) -> Any:
    tree = _parse(text)
    return unpack(tree) if _ANY_TAG in text else tree
