"""Paths: an entry is found by the names that lead to it, not by its position (D5).

`flow/authorize`, `payments[3]/build-plan`, `embed#2`. In a name the separators are
written `%2F` and so on, so that names never collide with them.
"""

from __future__ import annotations

from functools import lru_cache

from durable.errors import InvalidName
from durable.usercode.names import size

MAX_BYTES = 256  # of one name with its suffix
SEPARATOR = "/"
_ESCAPES = str.maketrans({"%": "%25", "/": "%2F", "[": "%5B", "]": "%5D", "#": "%23"})


def segment(name: str) -> str:
    """The name as it stands in a path; raises InvalidName."""
    if not isinstance(name, str):
        raise InvalidName(f"the name of a durable operation is a string, not {type(name).__name__}: {name!r}")
    return _escaped(name)


@lru_cache(maxsize=4096)
def _escaped(name: str) -> str:
    if not name:
        raise InvalidName("the name of a durable operation is empty: give each operation a name")
    escaped = name.translate(_ESCAPES)
    _check_size(escaped)
    return escaped


def counted(name: str, count: int) -> str:
    """The name of the `count`-th operation of one name in one scope: `embed`, `embed#2`, `embed#3`."""
    if count == 1:
        return name
    suffixed = f"{name}#{count}"
    _check_size(suffixed)
    return suffixed


class Names:
    """The names of one scope: a repeated one is counted."""

    __slots__ = ("_counts", "_prefix")

    def __init__(self, scope: str) -> None:
        self._prefix = f"{scope}{SEPARATOR}" if scope else ""
        self._counts: dict[str, int] = {}

    def next(self, name: str) -> tuple[str, str]:
        """Return the path of the next operation of this name, and its last name with its count."""
        escaped = segment(name)
        count = self._counts[escaped] = self._counts.get(escaped, 0) + 1
        last = counted(escaped, count)
        return f"{self._prefix}{last}", last


def split(path: str) -> tuple[str, str]:
    """Return the scope of an operation, and its last name with its count."""
    scope, _, name = path.rpartition(SEPARATOR)
    return scope, name


def leaf(path: str) -> str:
    """Return the last name of a path, with its count."""
    return path.rpartition(SEPARATOR)[2]


def around(scope: str) -> str:
    """Return the scope around a scope: of an iteration its loop, of a loop or block the one that it was called in."""
    if scope.endswith("]"):
        return scope[: scope.rindex("[")]
    return scope.rpartition(SEPARATOR)[0]


def iteration(path: str, number: int) -> str:
    """Return the scope of one iteration of a loop: `payments[3]`."""
    return f"{path}[{number}]"


def number_of(iteration: str) -> int:
    """Return the number of an iteration by its scope."""
    return int(iteration[iteration.rindex("[") + 1 : -1])


def _check_size(name: str) -> None:
    if (bytes_ := size(name, "name")) > MAX_BYTES:
        raise InvalidName(
            f"the name '{name[:40]}…' is {bytes_} bytes with its suffix; at most {MAX_BYTES} fit. "
            "Shorten it: what varies belongs in the arguments."
        )
