"""Every call that functions and clients make, numbered: each passes here, where planned faults meet it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec import Struct

from durable.runtime.ports import Clock
from durable.testing.aws.units import Units
from durable.testing.faults import CLIENT, Answered, Faults
from durable.testing.invocations import Invocation, Invocations, ProcessDied
from durable.testing.lifetime import Lifetime

T = TypeVar("T")
Parameters = Mapping[str, Any]

FREE = Units()


class Call(Struct, frozen=True):
    """One attempt of an AWS call; on the local store, of the call of a port that stands for it, which costs nothing."""

    number: int
    by: str  # the function's logical id, or `client`
    invocation: int  # its number; 0 outside of all
    service: str
    operation: str  # botocore's name
    item: Mapping[str, Any] | None  # the key of the item, when the call is on one
    given: Callable[[], Parameters]
    units: Units
    request_bytes: int
    response_bytes: int
    item_bytes: int  # of the item after the call, by DynamoDB's rules
    error: str | None  # the code of the error that came back
    moment: int  # milliseconds since the epoch

    @property
    def parameters(self) -> Parameters:
        """What was sent, as it is on the wire: binary values are base64."""
        return self.given()

    @property
    def bytes(self) -> int:
        """Bytes on the wire, both ways."""
        return self.request_bytes + self.response_bytes


class Traffic:
    """Lets attempts pass, or not: planned faults happen, and a process that is dead makes no call."""

    def __init__(self, lifetime: Lifetime, clock: Clock, invocations: Invocations, faults: Faults) -> None:
        self.calls: list[Call] = []
        self._lifetime = lifetime
        self._clock = clock
        self._invocations = invocations
        self._faults = faults
        self._local = threading.local()

    @property
    def own(self) -> bool:
        """Whether the calls of this thread are the harness's own."""
        return getattr(self._local, "own", False)

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """The calls of this thread are the harness's own: Lambda's polling, set-up, a look at what is due."""
        self._lifetime.check()
        before, self._local.own = self.own, True
        try:
            yield
        finally:
            self._local.own = before

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """The calls of this thread are a function's, though the harness invoked it."""
        self._lifetime.check()
        before, self._local.own = self.own, False
        try:
            yield
        finally:
            self._local.own = before

    def attempt(
        self,
        operation: str,
        perform: Callable[[Invocation | None], T],
        answered: Callable[[Invocation | None, Answered], None],
    ) -> T:
        """Perform an attempt, if nothing happens to it before; `answered` is told what was answered in its place."""
        invocation = self.caller()
        try:
            self._faults.call("before", operation)
            if invocation is not None:
                self._check_alive(invocation)  # the action may have taken the time that was left
            result = perform(invocation)
        except Answered as answer:
            answered(invocation, answer)
            raise
        self._faults.call("after", operation)
        return result

    def record(
        self,
        invocation: Invocation | None,
        service: str,
        operation: str,
        item: Mapping[str, Any] | None,
        given: Callable[[], Parameters],
        *,
        error: str | None = None,
        units: Units = FREE,
        request_bytes: int = 0,
        response_bytes: int = 0,
        item_bytes: int = 0,
    ) -> None:
        """Note an attempt that was answered."""
        by, number = (CLIENT, 0) if invocation is None else (invocation.function, invocation.number)
        self.calls.append(
            Call(
                len(self.calls) + 1,
                by,
                number,
                service,
                operation,
                item,
                given,
                units,
                request_bytes,
                response_bytes,
                item_bytes,
                error,
                self._clock.now(),
            )
        )

    def caller(self) -> Invocation | None:
        """The invocation that makes the call, None outside of all; raises ProcessDied if its process is dead."""
        invocation = self._invocations.current()
        if invocation is not None:
            self._check_alive(invocation)
        return invocation

    def _check_alive(self, invocation: Invocation) -> None:
        """The dead make no call, and who is past the deadline is dead."""
        if self._clock.now() > invocation.deadline:
            invocation.died = True
        if invocation.died:
            raise ProcessDied
