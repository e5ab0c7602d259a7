"""The typed form: msgspec writes plain JSON, and reads it by the annotation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from durable.codec.exact import same
from durable.codec.incoming.annotations import fields_of, is_closed, is_open, members
from durable.codec.incoming.misfit import Misfit
from durable.codec.tagged import models
from durable.codec.tagged.classes import Kind, kind_of
from durable.errors import is_failure

TYPED = b"t"
_SET_FIELDS = "~set"
"""Beside a model's fields: the names of those that were set, when not all were."""


@dataclass(frozen=True, slots=True)
class Typed:
    """What writes and reads the values of one closed annotation."""

    write: Callable[[Any], bytes]
    read: Callable[[Any], Any]

    def settle(self, value: Any) -> tuple[bytes, Any] | None:
        """The bytes, and what replay will read from it; None if that isn't exactly the value."""
        try:
            text = self.write(value)
            again = self.read(text)
            return (TYPED + text, again) if same(value, again) and self.write(again) == text else None
        except BaseException as error:  # not of the annotation, or a __post_init__ that refuses: the tagged form may do
            if not is_failure(error):
                raise
            return None


def typed(annotation: Any) -> Typed | None:
    """None for an annotation that isn't closed."""
    try:
        return _typed(annotation)
    except BaseException as error:  # not hashable
        if not is_failure(error):
            raise
        return None


@lru_cache(maxsize=512)
def _typed(annotation: Any) -> Typed | None:
    if is_open(annotation):
        return None
    try:
        closed, sets = is_closed(annotation)
        if not closed:
            return None
        encoder = msgspec.json.Encoder(enc_hook=_fields_to_write, order="deterministic" if sets else None)
        return Typed(encoder.encode, _reader(annotation))
    except Exception:  # names that can't be resolved, or what msgspec knows no way to read
        return None


@lru_cache(maxsize=512)
def _reader(annotation: Any) -> Callable[[Any], Any]:
    return msgspec.json.Decoder(annotation, dec_hook=_model_that_was_read).decode


def read(text: Any, annotation: Any) -> Any:
    """A value from its typed text; by its plain JSON if there is no annotation now.

    The annotation may have become a union since then, which msgspec can't tell apart: it is the first member whose
    text is the recorded one, or else the first that can read it.
    """
    if is_open(annotation):
        return msgspec.json.decode(text)
    try:
        reader = _reader(annotation)
    except TypeError:
        if not members(annotation):
            raise
        return _read_member(text, members(annotation))
    return reader(text)


def _read_member(text: Any, candidates: tuple[Any, ...]) -> Any:
    readable: list[Any] = []
    failure: Exception | None = None
    for candidate in candidates:
        try:
            value = read(text, candidate)
            form = typed(candidate)
            settled = form.settle(value) if form is not None else None
            if settled is not None and settled[0] == TYPED + text:
                return value
            readable.append(value)
        except (msgspec.MsgspecError, TypeError) as error:
            failure = failure or error
    if readable:
        return readable[0]
    raise failure or TypeError("an empty union")


def _fields_to_write(value: Any) -> dict[str, Any]:
    cls: Any = type(value)
    if kind_of(cls) is not Kind.PYDANTIC:
        raise NotImplementedError
    parts = models.parts(value)
    if "more" in parts or "private" in parts:
        raise NotImplementedError
    fields: dict[str, Any] = parts["value"]
    return {**fields, _SET_FIELDS: parts["set"]} if "set" in parts else fields


def _model_that_was_read(cls: Any, plain: Any) -> Any:
    if not isinstance(cls, type) or kind_of(cls) is not Kind.PYDANTIC or not isinstance(plain, dict):
        raise NotImplementedError
    values = {}
    for name, annotation in fields_of(cls).items():
        if name in plain:
            with Misfit.under(f".{name}"):
                values[name] = msgspec.convert(plain[name], annotation, str_keys=True, dec_hook=_model_that_was_read)
    return models.build(cls, {"value": values, "set": plain.get(_SET_FIELDS, values)})
