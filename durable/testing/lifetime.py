"""The lifetime of a harness: what belongs to it makes AWS calls inside its `with` block, and nowhere else.

After the block no emulator answers any more. A call would reach the real AWS, or the next harness, which has the same table
and queue names. So each call is refused with an error before a request is made.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar, TypeVar, cast

from msgspec.structs import replace

from durable.errors import ConfigurationError
from durable.runtime.ports import Ports

P = TypeVar("P")


class Phase(StrEnum):
    """Where a harness is in its life."""

    NEW = "new"
    OPEN = "open"
    CLOSED = "closed"


class NotEntered(ConfigurationError, AttributeError):
    """A harness was used before its `with` block."""

    def __init__(self) -> None:
        super().__init__("this harness is not entered: use it inside `with Harness(...) as durable:`.")


class HarnessClosed(ConfigurationError):
    """Something of a harness was used after its `with` block: no emulator answers, and no request was made."""

    def __init__(self, what: str = "this harness, or a client or execution of it,") -> None:
        super().__init__(
            f"{what} was used after its `with Harness(...)` block had ended, and would have called the real AWS. Nothing "
            "was sent. Move the call into the block."
        )


class Lifetime:
    """Knows whether a harness is open; at most one in the process is."""

    _current: ClassVar[Lifetime | None] = None

    def __init__(self) -> None:
        self.phase = Phase.NEW

    def open(self) -> None:
        """Begin; raises ConfigurationError for a second time, and while another harness is open."""
        if self.phase is not Phase.NEW:
            raise ConfigurationError("this harness was entered before: make a new Harness for each `with` block.")
        if Lifetime._current is not None:
            raise ConfigurationError(
                "another harness is open: the clock and the emulator are the process's own, so there can be one at a time. "
                "Leave its `with` block first, or give one harness all the workflows."
            )
        Lifetime._current = self
        self.phase = Phase.OPEN

    def close(self) -> None:
        """End: every later check fails."""
        if self.phase is Phase.OPEN:
            Lifetime._current = None
        self.phase = Phase.CLOSED

    def check(self) -> None:
        """Raise NotEntered or HarnessClosed unless the harness is open."""
        if self.phase is Phase.NEW:
            raise NotEntered
        if self.phase is Phase.CLOSED:
            raise HarnessClosed

    def guard(self, ports: Ports) -> Ports:
        """Return the ports, those that make requests wrapped so that they check first."""
        return replace(
            ports,
            store=self.guarded(ports.store),
            values=self.guarded(ports.values),
            queue=self.guarded(ports.queue),
            publisher=None if ports.publisher is None else self.guarded(ports.publisher),
        )

    def guarded(self, port: P) -> P:
        """Return the port, wrapped so that each use of it is checked first."""
        return cast(P, _Guarded(port, self))


class _Guarded:
    """A port of a harness."""

    __slots__ = ("_lifetime", "_port")

    def __init__(self, port: object, lifetime: Lifetime) -> None:
        self._port = port
        self._lifetime = lifetime

    def __getattr__(self, name: str) -> Any:
        self._lifetime.check()
        return getattr(self._port, name)


def refuse_outside(**_event: object) -> None:
    """Raise HarnessClosed unless some harness is open: a handler of botocore's events, for clients made in a harness."""
    if Lifetime._current is None:
        raise HarnessClosed("a boto3 client that was made inside a harness")
