"""Every AWS call that is made, numbered, with what it costs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from durable.runtime.ports import Clock
from durable.testing.aws.mail import Mail
from durable.testing.aws.metering import Meter
from durable.testing.aws.permissions import Permissions
from durable.testing.aws.units import Units
from durable.testing.aws.watch import Watch
from durable.testing.aws.wire import Answer, Answered, Request, Send, answer_of
from durable.testing.faults import CLIENT, Faults
from durable.testing.invocations import Invocation, Invocations, ProcessDied
from durable.testing.lifetime import Lifetime
from durable.testing.sources.timers import Timers

if TYPE_CHECKING:
    from botocore.awsrequest import AWSResponse


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP attempt of an AWS call."""

    number: int
    by: str  # the function's logical id, or `client`
    invocation: int  # its number; 0 outside of all
    service: str
    operation: str  # botocore's name
    item: Mapping[str, Any] | None  # the key of the item, when the call is on one
    parameters: Mapping[str, Any] = field(repr=False)
    units: Units
    request_bytes: int
    response_bytes: int
    item_bytes: int  # of the item after the call, by DynamoDB's rules
    error: str | None  # the code of the error that came back
    moment: int  # milliseconds since the epoch

    @property
    def bytes(self) -> int:
        """Bytes on the wire, both ways."""
        return self.request_bytes + self.response_bytes


class Traffic:
    """Carries every attempt: records it, lets planned faults happen, keeps who is dead or not permitted from calling."""

    def __init__(
        self,
        clock: Clock,
        invocations: Invocations,
        permissions: Permissions,
        faults: Faults,
        mail: Mail,
        meter: Meter,
        watch: Watch,
        lifetime: Lifetime,
    ) -> None:
        self.calls: list[Call] = []
        self._lifetime = lifetime
        self._clock = clock
        self._invocations = invocations
        self._permissions = permissions
        self._faults = faults
        self._mail = mail
        self._meter = meter
        self._watch = watch
        self.timers: Timers | None = None
        self._local = threading.local()
        self._one_at_a_time = threading.RLock()  # moto's transactions lose writes of other threads

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """The calls of this thread are the harness's own: Lambda's polling, set-up, a look at what is due."""
        self._lifetime.check()
        before = getattr(self._local, "own", False)
        self._local.own = True
        try:
            yield
        finally:
            self._local.own = before

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """The calls of this thread are a function's, though the harness invoked it."""
        self._lifetime.check()
        before = getattr(self._local, "own", False)
        self._local.own = False
        try:
            yield
        finally:
            self._local.own = before

    def carry(self, request: Request, send: Send) -> AWSResponse:
        """Sends the attempt on, or does not."""
        if getattr(self._local, "own", False):
            with self._one_at_a_time:
                return self._forward(request, send)[0]
        invocation = self._invocations.current()
        self._bury(invocation)
        if invocation is not None:
            self._permissions.check(invocation.function, request)
        try:
            self._faults.call("before", request)
            self._bury(invocation)  # the action may have taken the time that was left
            with self._one_at_a_time:
                touched = self._meter.before(request)
                response, answer = self._forward(request, send)
                self._record(request, invocation, answer, self._meter.units(request, answer, touched))
        except Answered as answered:
            self._record(request, invocation, Answer(answered.status, answered.body, 0), Units())
            raise
        self._faults.call("after", request)
        return response

    def _bury(self, invocation: Invocation | None) -> None:
        """The dead make no call, and who is past the deadline is dead."""
        if invocation is None:
            return
        if self._clock.now() > invocation.deadline:
            invocation.died = True
        if invocation.died:
            raise ProcessDied

    def _forward(self, request: Request, send: Send) -> tuple[AWSResponse, Answer]:
        self._mail.before(request)
        response = send()
        answer = answer_of(response)
        self._mail.after(request, answer)
        self._watch.after(request, answer)
        if self.timers is not None:
            self.timers.after(request, answer)
        return response, answer

    def _record(
        self,
        request: Request,
        invocation: Invocation | None,
        answer: Answer,
        units: Units,
    ) -> None:
        named = self._meter.key_of(request)
        self.calls.append(
            Call(
                number=len(self.calls) + 1,
                by=CLIENT if invocation is None else invocation.function,
                invocation=0 if invocation is None else invocation.number,
                service=request.service,
                operation=request.operation,
                item=None if named is None else {name: next(iter(value.values())) for name, value in named[1].items()},
                parameters=request.parameters,
                units=units,
                request_bytes=request.size,
                response_bytes=answer.size,
                item_bytes=0 if named is None else self._meter.size(*named),
                error=answer.error,
                moment=self._clock.now(),
            )
        )
