"""Calls of local ports as attempts of the AWS calls that they stand for: recorded, met by faults, and tried again.

An attempt is tried again where botocore, or the adapter over it, would: after a lost answer, a throttled call, a conflict
with another transaction. What was applied and is tried again is applied again, as on AWS: conditions tell, and a
transaction by its token.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import Struct

from durable.errors import StoreError
from durable.runtime.ports import Clock
from durable.testing.calls import Traffic
from durable.testing.faults import Answered, AnswerLost
from durable.testing.invocations import Invocation

T = TypeVar("T")

ATTEMPTS = 4  # of botocore, as the adapters configure it
CONFLICT_ATTEMPTS = 6  # of the adapter of the table …
CONFLICT_DELAY = 0.025  # … in seconds, doubled each time

_THROTTLED = frozenset(
    {
        "InternalServerError",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
_CONFLICT = "TransactionConflictException"
_HARMLESS: Mapping[str, frozenset[str]] = {  # what an adapter takes for done
    "CreateSchedule": frozenset({"ConflictException"}),
    "DeleteSchedule": frozenset({"ResourceNotFoundException"}),
    "ChangeMessageVisibility": frozenset({"ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"}),
}


def _never(result: object) -> None:
    return None


class PortCall(Struct, frozen=True):
    """The AWS call that a call of a port stands for."""

    service: str
    operation: str
    doing: str  # for errors: could not <doing>
    given: Callable[[], Mapping[str, Any]]  # the parameters
    item: Mapping[str, Any] | None = None
    refusal: Callable[[Any], str | None] = _never  # of what the port returns: the code of the error that AWS answers


@dataclass(frozen=True, slots=True)
class Attempts:
    """Makes calls, each in as many attempts as it needs; raises StoreError."""

    traffic: Traffic
    clock: Clock

    def make(self, call: PortCall, act: Callable[[], T]) -> T:
        """Return what `act` returns."""
        if self.traffic.own:
            return act()
        for attempt in range(1, CONFLICT_ATTEMPTS + 1):
            try:
                return self._tried(call, act)
            except _Conflict as conflict:
                if attempt == CONFLICT_ATTEMPTS:
                    raise StoreError(str(conflict)) from conflict
                self.clock.sleep(random.uniform(0, CONFLICT_DELAY * 2**attempt))
        raise AssertionError("every attempt returns or raises")

    def once(self, call: PortCall, act: Callable[[], None]) -> None:
        """As `make`, for what returns nothing and may be answered without being done: a message that is lost."""
        with suppress(_Swallowed):
            self.make(call, act)

    def _tried(self, call: PortCall, act: Callable[[], T]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._one(call, act)
            except AnswerLost as lost:
                if attempt == ATTEMPTS:
                    raise StoreError(
                        f"could not {call.doing}: Connection was closed before we received a valid response, {lost}"
                    ) from lost
            except Answered as answer:
                code, message = answer.error, answer.body.get("message", "")
                if code is None or code in _HARMLESS.get(call.operation, ()):
                    raise _Swallowed from answer
                told = f"could not {call.doing}: {code}: {message}"
                if code == _CONFLICT and call.service == "dynamodb":
                    raise _Conflict(told) from answer
                if code not in _THROTTLED or attempt == ATTEMPTS:
                    raise StoreError(told) from answer
        raise AssertionError("every attempt returns or raises")

    def _one(self, call: PortCall, act: Callable[[], T]) -> T:
        def perform(invocation: Invocation | None) -> T:
            result = act()
            self._note(call, invocation, call.refusal(result))
            return result

        def answered(invocation: Invocation | None, answer: Answered) -> None:
            self._note(call, invocation, answer.error)

        return self.traffic.attempt(call.operation, perform, answered)

    def _note(self, call: PortCall, invocation: Invocation | None, error: str | None) -> None:
        self.traffic.record(invocation, call.service, call.operation, call.item, call.given, error=error)


class _Conflict(Exception):
    """Nothing was wrong with a write but its moment."""


class _Swallowed(Exception):
    """Nothing was done, and the answer says that it was."""
