"""Misfortune on purpose: a process that dies before or after any AWS call or in any body, an answer that is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from durable.errors import InvalidCall
from durable.testing.invocations import Invocations, ProcessDied

CLIENT = "client"  # who makes the calls outside of all invocations

Action = Callable[[], object]
Operation = str | tuple[str, ...]
"""botocore's name of an operation, or of several."""


class Answered(BaseException):
    """Raised instead of making a call: this is its answer, as AWS would give it."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        self.status = status
        self.body = body
        super().__init__(status)

    @property
    def error(self) -> str | None:
        """The error's code; None when the call succeeded."""
        if self.status < 300:
            return None
        return str(self.body.get("__type", "")).rpartition("#")[2] or f"HTTP {self.status}"


class AnswerLost(Exception):
    """The connection broke before the answer was there; whether the call was applied, its caller can't tell."""


@dataclass(slots=True)
class Plan:
    """Something that happens at the nth of the matching occasions, counted from when it was planned."""

    moment: str  # before or after a call, or in a body
    nth: int
    action: Action
    names: tuple[str, ...] | None  # the operations of the call, the path of the body; None is any
    by: str | None  # the function, or `client`; None is any function
    times: int
    seen: int = 0

    def happens(self, moment: str, name: str, by: str) -> bool:
        """Counts an occasion; whether the action is to be taken now."""
        if moment != self.moment or (self.names is not None and name not in self.names):
            return False
        if by != self.by and (self.by is not None or by == CLIENT):
            return False
        self.seen += 1
        return self.nth <= self.seen < self.nth + self.times


class Faults:
    """Plans of misfortune.

    durable.faults.before(3, durable.faults.die)                             before the third AWS call of any function
    durable.faults.after(1, durable.faults.die, operation="UpdateItem")      applied, but its answer never seen
    durable.faults.after(1, durable.faults.lose_answer, by="Worker")         so botocore's own retry repeats the call
    durable.faults.before(1, durable.faults.refuse("TransactionConflictException"), operation="UpdateItem")
    durable.faults.before(2, durable.faults.swallow, operation=durable.sending)  accepted, and never delivered
    durable.faults.in_body(2, durable.faults.die)                            as the second body begins

    An action is any callable: it may deliver another message, send a signal, advance the clock.
    """

    def __init__(self, invocations: Invocations) -> None:
        self._invocations = invocations
        self._plans: list[Plan] = []
        self.on_body: list[Callable[[str], object]] = []  # called with the path as each body begins
        self.bodies: list[str] = []  # the path of every body that began, in order

    # --- planning ---------------------------------------------------------------------------------------------------

    def before(
        self, nth: int, action: Action, *, operation: Operation | None = None, by: str | None = None, times: int = 1
    ) -> None:
        """At the nth call from now, before it is sent."""
        self._plan("before", nth, action, operation, by, times)

    def after(
        self, nth: int, action: Action, *, operation: Operation | None = None, by: str | None = None, times: int = 1
    ) -> None:
        """At the nth call from now, once it is applied and before its caller sees the answer."""
        self._plan("after", nth, action, operation, by, times)

    def in_body(self, nth: int, action: Action, *, path: str | None = None, times: int = 1) -> None:
        """As the nth body (of a step or a rollback) from now begins."""
        self._plan("body", nth, action, path, None, times)

    def clear(self) -> None:
        """Nothing that was planned happens any more."""
        self._plans.clear()

    def _plan(self, moment: str, nth: int, action: Action, named: Operation | None, by: str | None, times: int) -> None:
        if nth < 1 or not callable(action):
            raise InvalidCall("a fault is planned as (nth, action): nth counts from 1, the action is a callable.")
        names = (named,) if isinstance(named, str) else named
        self._plans.append(Plan(moment, nth, action, names, by, times))

    # --- actions ----------------------------------------------------------------------------------------------------

    def die(self) -> NoReturn:
        """The process of the running invocation dies, here and now."""
        if invocation := self._invocations.current():
            invocation.died = True
        raise ProcessDied

    @staticmethod
    def lose_answer() -> NoReturn:
        """The connection breaks before the answer is there."""
        raise AnswerLost("by a planned fault")

    @staticmethod
    def refuse(code: str, message: str = "by a planned fault") -> Action:
        """The action that answers with this error instead of sending the call."""

        def refuse() -> NoReturn:
            raise Answered(400, {"__type": f"com.amazonaws#{code}", "message": message})

        return refuse

    @staticmethod
    def swallow() -> NoReturn:
        """A SendMessage or PutEvents is answered as if it had worked; what was sent is lost."""
        identity = "00000000-0000-0000-0000-000000000000"
        message = {"MessageId": identity, "MD5OfMessageBody": ""}
        raise Answered(200, message | {"FailedEntryCount": 0, "Entries": [{"EventId": identity}]})

    # --- occasions --------------------------------------------------------------------------------------------------

    def call(self, moment: str, operation: str) -> None:
        """A call is about to be sent, or was applied."""
        if self._plans:
            self._happen(moment, operation)

    def body(self, path: str) -> None:
        """A body is about to run."""
        self.bodies.append(path)
        for listener in tuple(self.on_body):
            listener(path)
        if self._plans:
            self._happen("body", path)

    def _happen(self, moment: str, name: str) -> None:
        invocation = self._invocations.current()
        by = CLIENT if invocation is None else invocation.function
        for action in [plan.action for plan in self._plans if plan.happens(moment, name, by)]:
            action()
