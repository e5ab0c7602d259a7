"""What does not fit an annotation, and where: read from msgspec's messages, which end with "- at `$.lines[0]`"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from durable.codec.display import error_text

_PLACE = re.compile(r" - at (?:`key` in )?`(?P<path>\$[^`]*)`$")
_FIELD = re.compile(r"(?:missing required|unknown) field `(?P<name>[^`]+)`")


class Misfit(ValueError):
    """A misfit inside a hook; msgspec adds the place of the hook's value to it, `located` the rest."""

    def __init__(self, reason: str, path: str = "") -> None:
        self.reason = reason
        self.path = path
        super().__init__(reason)

    @classmethod
    @contextmanager
    def under(cls, step: str) -> Iterator[None]:
        try:
            yield
        except msgspec.MsgspecError as error:
            reason, path = located(error)
            raise cls(reason, step + path[1:]) from error


def located(error: BaseException) -> tuple[str, str]:
    """Return the reason, and the path of the field from `$` on."""
    if not issubclass(type(error), msgspec.MsgspecError):
        return error_text(error), "$"
    text = str(error)
    place = _PLACE.search(text)
    path = place["path"] if place else "$"
    reason = text[: place.start()] if place else text
    if isinstance(error.__cause__, Misfit):
        reason, path = error.__cause__.reason, path + error.__cause__.path
    elif field := _FIELD.search(reason):
        path += f".{field['name']}"
    return reason, path
