"""Why a value can't be stored, and where in it: raised at the leaf, located by the containers on its way out."""

from __future__ import annotations

from durable.codec.advice import class_of, instead, what
from durable.codec.display import clean, error_text, shown_value
from durable.errors import CodecError

DEPTH = 100
"""Levels of nesting that can be stored: a fixed number, so that what was written can be read from any stack."""

_SHOWN_STEPS = 12
_SHOWN_KEY = 40
_MOST = 2_000  # characters of a message


class Refusal(Exception):
    """The reason, and the steps from the leaf to the root that the containers add."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.steps: list[str] = []
        super().__init__(reason)

    def within(self, step: str) -> None:
        """Add the step of a container around the value."""
        self.steps.append(step)

    @property
    def path(self) -> str:
        """Where the value is, from the root on: `$.lines[0]`."""
        steps = self.steps[::-1]
        return "$" + "".join(steps[:_SHOWN_STEPS]) + ("…" if len(steps) > _SHOWN_STEPS else "")

    def as_error(self) -> CodecError:
        """Return the error that users meet."""
        return CodecError(clean(f"{self.path} {self.reason}", _MOST), self.path)


def index_step(index: int) -> str:
    """How a path names an index."""
    return f"[{index}]"


def key_step(key: object) -> str:
    """How a path names a key: `.total`, `['unit price']`, `[(1, 2)]`."""
    if type(key) is str and key.isidentifier():
        return f".{clean(key, _SHOWN_KEY)}"
    return f"[{clean(shown_value(key), _SHOWN_KEY)}]"


def too_deep() -> Refusal:
    """A value that has no end, or whose end is too far down."""
    return Refusal(
        f"contains itself, or is nested more than {DEPTH} deep. Store ids that refer to each other, or a flat list."
    )


def unstorable(value: object) -> Refusal:
    """A value of a class that is not stored."""
    return Refusal(f"is {what(value)}, which can't be stored. {instead(value)}")


def misbehaving(value: object, error: BaseException) -> Refusal:
    """A value that raised when it was looked at: a property, a lazy field, a method of a class of the user's."""
    return Refusal(
        f"is a {class_of(value)} that can't be read: {error_text(error)}. Read what is needed in the body, and return that."
    )


def missing(cls: type, name: str) -> Refusal:
    """A stored value that lacks a field which its class has gained since."""
    return Refusal(f"was stored before {cls.__qualname__} had the field '{name}'. Give that field a default.")
