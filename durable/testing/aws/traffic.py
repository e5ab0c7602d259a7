"""Every HTTP attempt of every AWS call, with what it costs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from durable.testing.aws.mail import Mail
from durable.testing.aws.metering import Meter
from durable.testing.aws.permissions import Permissions
from durable.testing.aws.scheduler import take_note
from durable.testing.aws.units import Units
from durable.testing.aws.watch import Watch
from durable.testing.aws.wire import Answer, Request, Send, answer_of
from durable.testing.calls import Traffic
from durable.testing.clock import VirtualClock
from durable.testing.faults import Answered, Faults
from durable.testing.invocations import Invocation, Invocations
from durable.testing.lifetime import Lifetime
from durable.testing.sources.timers import Timers

if TYPE_CHECKING:
    from botocore.awsrequest import AWSResponse


class WireTraffic(Traffic):
    """Carries every attempt: records it, and keeps who is dead or not permitted from calling."""

    def __init__(
        self,
        lifetime: Lifetime,
        clock: VirtualClock,
        invocations: Invocations,
        faults: Faults,
        permissions: Permissions,
        mail: Mail,
        meter: Meter,
        watch: Watch,
    ) -> None:
        super().__init__(lifetime, clock, invocations, faults)
        self._exact = clock.exact
        self._permissions = permissions
        self._mail = mail
        self._meter = meter
        self._watch = watch
        self.timers: Timers | None = None
        self._one_at_a_time = threading.RLock()  # moto's transactions lose writes of other threads

    def carry(self, request: Request, send: Send) -> AWSResponse:
        """Sends the attempt on, or does not."""
        if self.own:
            with self._one_at_a_time:
                return self._forward(request, send)[0]

        def perform(invocation: Invocation | None) -> AWSResponse:
            with self._one_at_a_time:
                touched = self._meter.before(request)
                response, answer = self._forward(request, send)
                self._note(request, invocation, answer, self._meter.units(request, answer, touched))
            return response

        def answered(invocation: Invocation | None, answer: Answered) -> None:
            self._note(request, invocation, Answer(answer.status, answer.body, 0), Units())

        caller = self.caller()
        if caller is not None:
            self._permissions.check(caller.function, request)
        return self.attempt(request.operation, perform, answered)

    def _forward(self, request: Request, send: Send) -> tuple[AWSResponse, Answer]:
        self._mail.before(request)
        with self._exact():
            response = send()
        answer = answer_of(response)
        self._mail.after(request, answer)
        self._watch.after(request, answer)
        if self.timers is not None:
            take_note(self.timers, request, answer)
        return response, answer

    def _note(self, request: Request, invocation: Invocation | None, answer: Answer, units: Units) -> None:
        named = self._meter.key_of(request)
        self.record(
            invocation,
            request.service,
            request.operation,
            None if named is None else {name: next(iter(value.values())) for name, value in named[1].items()},
            lambda: request.parameters,
            error=answer.error,
            units=units,
            request_bytes=request.size,
            response_bytes=answer.size,
            item_bytes=0 if named is None else self._meter.size(*named),
        )
