"""Names that users give: they are stored, so they must be valid text."""

from __future__ import annotations

from durable.errors import InvalidName


def size(name: str, what: str) -> int:
    """The bytes of a name; raises InvalidName for one that has none."""
    try:
        return len(name.encode())
    except UnicodeEncodeError as error:
        raise InvalidName(f"the {what} {name!r} holds a lone surrogate, which can't be stored") from error
