"""What handled operations return: a failure is data."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal, overload

from durable.api.generics import Valued
from durable.errors import ErrorInfo, InvalidCall, Kind, StepFailed

if TYPE_CHECKING:
    from typing import Never

    from durable.api.generics import T_co


class Continue(Valued["T_co"]):
    """Returned by a loop's body: go on, with this state."""

    stored_instead = "Return it from the body of ctx.loop."
    __match_args__ = ("state",)
    __slots__ = ("state",)

    if TYPE_CHECKING:

        @overload
        def __init__(self: Continue[None]) -> None: ...
        @overload
        def __init__(self, state: T_co) -> None: ...

    def __init__(self, state: Any = None) -> None:
        self.state = state

    def __repr__(self) -> str:
        return f"Continue({self.state!r})"


class Break(Valued["T_co"]):
    """Returned by a loop's body: end the loop, which then returns this value."""

    stored_instead = "Return it from the body of ctx.loop."
    __match_args__ = ("value",)
    __slots__ = ("value",)

    if TYPE_CHECKING:

        @overload
        def __init__(self: Break[None]) -> None: ...
        @overload
        def __init__(self, value: T_co) -> None: ...

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Break({self.value!r})"


Source = Literal["step", "join", "race", "block"]


class NoFailure(AttributeError):
    """`.failure` was read on a Success."""


class Success(Valued["T_co"]):
    """The operation ended well; `.value` is its result."""

    stored_instead = "Return its .value."
    __match_args__ = ("value",)
    __slots__ = ("_value",)
    ok: Literal[True] = True

    def __init__(self, value: T_co) -> None:
        self._value = value

    @property
    def value(self) -> T_co:
        """The result."""
        return self._value

    @property
    def failure(self) -> Never:
        """There is none: raises."""
        raise NoFailure("this is a Success: it has a .value and no .failure; look at .ok first")

    def __repr__(self) -> str:
        return f"Success({self._value!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Success) and bool(self._value == other.value)

    def __hash__(self) -> int:
        return hash(("Success", self._value))


class Failure:
    """The operation failed; `.kind`, `.step`, `.attempts` and `.error` say how."""

    stored_instead = "Return what you need of it, such as .error.message, or raise it with .value."
    __match_args__ = ("kind", "error")
    __slots__ = ("attempts", "error", "kind", "source", "step")
    ok: Literal[False] = False

    def __init__(self, kind: Kind, source: Source, step: str, attempts: int, error: ErrorInfo) -> None:
        self.kind: Kind = kind
        self.source: Source = source
        self.step = step
        self.attempts = attempts
        self.error = error

    @property
    def value(self) -> Never:
        """There is none: raises the StepFailed that this failure stands for."""
        raise StepFailed(self.kind, self.step, self.attempts, self.error)

    @property
    def failure(self) -> Failure:
        """Itself, so that `result.failure.error` reads."""
        return self

    def _key(self) -> tuple[Any, ...]:
        return (self.kind, self.source, self.step, self.attempts, self.error)

    def __repr__(self) -> str:
        return f"Failure(kind={self.kind!r}, step={self.step!r}, attempts={self.attempts}, error={self.error})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Failure) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.kind, self.source, self.step, self.attempts))


def as_failure(error: StepFailed) -> Failure:
    """The failure that a handled StepFailed stands for."""
    return Failure(error.kind, "step", error.step, error.attempts, error.error)


DEFAULT_CATCH: tuple[Kind, ...] = ("critical", "timeout", "exhausted")
KINDS = frozenset({"critical", "timeout", "exhausted", "rollback"})


def checked_catch(catch: Collection[Kind]) -> Collection[Kind]:
    """Return the kinds that are caught; raises InvalidCall for one that does not exist."""
    if catch is None or isinstance(catch, str) or not set(catch) <= KINDS:
        raise InvalidCall(f"catch={catch!r}: the kinds are {', '.join(sorted(KINDS))}; write catch=['exhausted']")
    return catch
