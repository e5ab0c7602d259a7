"""Input from outside, plain JSON, to values of an annotation: strict, and a misfit names its field (E10)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import msgspec

from durable.codec.display import error_text
from durable.codec.incoming import unions
from durable.codec.incoming.annotations import is_open
from durable.codec.incoming.misfit import Misfit, located
from durable.codec.refusal import index_step, key_step
from durable.codec.tagged.classes import Kind, kind_of
from durable.errors import CodecError, InvalidInput, is_failure

_LONG_NUMBER = re.compile(rb"[0-9][0-9.]{16}")  # more digits than a float holds


def accept(data: bytes | object, annotation: Any) -> Any:
    """Return a value of the annotation from JSON text (bytes) or from what was parsed of it; without annotation, as it is.

    A number in text is read by its type: a Decimal has all its digits. Raises InvalidInput, whose path names the field,
    for data that doesn't fit, and CodecError for an annotation that no JSON can be read by.
    """
    expected = Any if is_open(annotation) else annotation
    try:
        if isinstance(data, bytes):
            return _read(data, expected)
        if _reader(expected) is None:
            return _read(msgspec.json.encode(data), expected)
        return msgspec.convert(data, expected, str_keys=True, dec_hook=_model)
    except (CodecError, InvalidInput):
        raise
    except RecursionError as error:
        raise InvalidInput("the input is nested too deep") from error
    except BaseException as error:  # a __post_init__ or an Enum's _missing_ that refuses in its own way
        if not is_failure(error):
            raise
        raise _refusal(error) from error


def _read(text: bytes, annotation: Any) -> Any:
    read = _reader(annotation)
    if read is None:
        msgspec.json.decode(text, type=msgspec.Raw)  # what is no JSON at all is told as that
        return unions.read(text, annotation, _read_part)
    if _LONG_NUMBER.search(text) is not None:
        literals = _Literals()
        hook = partial(_model, literals=literals)
        read = msgspec.json.Decoder(annotation, dec_hook=hook, float_hook=literals.note).decode
    return read(text)


def _read_part(text: bytes, annotation: Any) -> Any:
    """A part of the input; raises Misfit."""
    try:
        return _read(text, annotation)
    except (CodecError, RecursionError):
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise _as_misfit(error) from error


def _as_misfit(error: BaseException) -> Misfit:
    if isinstance(error, Misfit):
        return error
    if isinstance(error, msgspec.DecodeError) and not isinstance(error, msgspec.ValidationError):
        return Misfit(f"not JSON: {error}")
    if isinstance(error, msgspec.ValidationError):
        reason, path = located(error)
        return Misfit(reason, path[1:])
    return Misfit(error_text(error))


def _refusal(error: BaseException) -> InvalidInput:
    misfit = _as_misfit(error)
    path = f"${misfit.path}"
    placed = isinstance(error, (Misfit, msgspec.ValidationError))
    return InvalidInput(f"{misfit.reason} - at `{path}`" if placed else misfit.reason, path)


def _reader(annotation: Any) -> Callable[[bytes], Any] | None:
    """What reads text by the annotation; None where msgspec has no way to."""
    try:
        return _cached_reader(annotation)
    except TypeError:  # no type that msgspec reads, or one that can't be hashed for the cache
        pass
    try:
        return _new_reader(annotation)
    except TypeError:
        return None
    except NameError as error:
        raise unions.unreadable(annotation, f"{error}: its annotations can't be resolved") from error


def _new_reader(annotation: Any) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(annotation, dec_hook=_model).decode


_cached_reader = lru_cache(maxsize=512)(_new_reader)


# --- pydantic -------------------------------------------------------------------------------------------------------


class _Literals:
    """The numbers of a text as they were written, by the floats that they became."""

    def __init__(self) -> None:
        self._texts: dict[float, set[str]] = {}

    def note(self, text: str) -> float:
        """Take note of a number."""
        number = float(text)
        self._texts.setdefault(number, set()).add(text)
        return number

    def written(self, plain: Any) -> Any:
        """Return parsed JSON with the numbers as text that a float does not hold: a Decimal is read from text as well."""
        if isinstance(plain, dict):
            return {name: self.written(value) for name, value in plain.items()}
        if isinstance(plain, list):
            return [self.written(value) for value in plain]
        texts = self._texts.get(plain, set()) if isinstance(plain, float) else set()
        (text,) = texts if len(texts) == 1 else ("",)
        return text if _LONG_NUMBER.match(text.lstrip("-").encode()) else plain


def _model(cls: Any, plain: Any, literals: _Literals | None = None) -> Any:
    """A pydantic model, by its own validators; the only class that msgspec leaves to us."""
    if not isinstance(cls, type) or kind_of(cls) is not Kind.PYDANTIC:
        raise unions.unreadable(cls, "it is not a class with fields")
    if literals is not None:
        try:
            return _validated(cls, literals.written(plain))
        except Misfit:  # a float that was written with more digits than it has
            pass
    return _validated(cls, plain)


def _validated(cls: Any, plain: Any) -> Any:
    try:
        return cls.model_validate_json(msgspec.json.encode(plain), strict=True)
    except ValueError as error:
        raise _first_misfit(error) from error


def _first_misfit(error: Any) -> Misfit:
    """Of the first of pydantic's errors."""
    first = error.errors(include_url=False)[0]
    steps = (index_step(step) if isinstance(step, int) else key_step(step) for step in first["loc"])
    return Misfit(first["msg"], "".join(steps))
