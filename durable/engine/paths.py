"""Paths: an entry is found by the names that lead to it, not by its position (D5).

`flow/authorize`, `payments[3]/build-plan`, `embed#2`. In a name the separators are
written `%2F` and so on, so that names never collide with them.
"""

from __future__ import annotations

from functools import lru_cache

from durable.errors import InvalidName

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


def leaf(path: str) -> str:
    """The last name of a path, with its count."""
    return path.rpartition(SEPARATOR)[2]


def within(path: str, scope: str) -> bool:
    """Whether an operation was called inside a scope, at whatever depth; everything is inside the root."""
    return not scope or path.startswith((f"{scope}{SEPARATOR}", f"{scope}["))


def iteration(path: str, number: int) -> str:
    """The scope of one iteration of a loop: `payments[3]`."""
    return f"{path}[{number}]"


def iteration_of(path: str, loop: str) -> int | None:
    """In which iteration of a loop an operation was called; None for one outside the loop."""
    if not path.startswith(f"{loop}["):
        return None
    return int(path[len(loop) + 1 : path.index("]", len(loop))])


def size(name: str, what: str) -> int:
    """The bytes of a name; raises InvalidName for one that has none."""
    try:
        return len(name.encode())
    except UnicodeEncodeError as error:
        raise InvalidName(f"the {what} {name!r} holds a lone surrogate, which can't be stored") from error


def _check_size(name: str) -> None:
    if (bytes_ := size(name, "name")) > MAX_BYTES:
        raise InvalidName(
            f"the name '{name[:40]}…' is {bytes_} bytes with its suffix; at most {MAX_BYTES} fit. "
            "Shorten it: what varies belongs in the arguments."
        )
