"""Input from outside, plain JSON, to values of an annotation: strict, and a misfit names its field (E10)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from durable.codec.annotations import is_open
from durable.codec.classes import Kind, kind_of
from durable.codec.display import error_text
from durable.codec.misfit import Misfit, located
from durable.codec.refusal import index_step, key_step
from durable.errors import CodecError, InvalidInput, is_failure


def accept(data: bytes | object, annotation: Any) -> Any:
    """A value of the annotation from JSON text (bytes) or from what was parsed of it; without annotation, as it is.

    Raises InvalidInput, whose path names the field, for data that doesn't fit, and CodecError for an annotation that
    no JSON can be read by.
    """
    expected = Any if is_open(annotation) else annotation
    try:
        read = _reader(expected)
        if isinstance(data, bytes):
            return read(data)
        return msgspec.convert(data, expected, str_keys=True, dec_hook=_validated)
    except (CodecError, InvalidInput):
        raise
    except msgspec.ValidationError as error:
        reason, path = located(error)
        raise InvalidInput(f"{reason} - at `{path}`", path) from error
    except msgspec.DecodeError as error:
        raise InvalidInput(f"not JSON: {error}") from error
    except RecursionError as error:
        raise InvalidInput("the input is nested too deep") from error
    except BaseException as error:  # a __post_init__ or an Enum's _missing_ that refuses in its own way
        if not is_failure(error):
            raise
        raise InvalidInput(error_text(error)) from error


def _reader(annotation: Any) -> Callable[[bytes], Any]:
    try:
        return _cached_reader(annotation)
    except TypeError:  # no type that msgspec reads, or one that can't be hashed for the cache
        pass
    try:
        return _new_reader(annotation)
    except TypeError as error:
        raise _unreadable(annotation, str(error)) from error
    except NameError as error:
        raise _unreadable(annotation, f"{error}: its annotations can't be resolved") from error


def _new_reader(annotation: Any) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(annotation, dec_hook=_validated).decode


_cached_reader = lru_cache(maxsize=512)(_new_reader)


def _unreadable(annotation: Any, reason: str) -> CodecError:
    return CodecError(
        f"no input can be read as {annotation}: {reason}. Annotate one dataclass, with a field that tells the cases "
        "apart, or leave the annotation out and read the plain JSON."
    )


def _validated(cls: Any, plain: Any) -> Any:
    """A pydantic model, by its own validators; the only class that msgspec leaves to us."""
    if not isinstance(cls, type) or kind_of(cls) is not Kind.PYDANTIC:
        raise _unreadable(cls, "it is not a class with fields")
    model: Any = cls
    try:
        return model.model_validate_json(msgspec.json.encode(plain), strict=True)
    except ValueError as error:
        raise _misfit(error) from error


def _misfit(error: Any) -> Misfit:
    """Of the first of pydantic's errors."""
    first = error.errors(include_url=False)[0]
    steps = (index_step(step) if isinstance(step, int) else key_step(step) for step in first["loc"])
    return Misfit(first["msg"], "".join(steps))
