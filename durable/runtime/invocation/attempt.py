"""Run one attempt of a body, a step's or a rollback's, and return what is to be recorded of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from typing import Any

from msgspec import Struct

from durable import codec
from durable.api.document import Document, StateUnreadable
from durable.api.log import ExecutionLog
from durable.api.retry import Retry
from durable.api.step import Access
from durable.errors import CodecError, DurableError, ErrorInfo, Kind
from durable.protocol.updates import Put
from durable.runtime.invocation.services import Reach
from durable.runtime.invocation.threads import Body, BodyThreads, Raised, Returned, TimedOut
from durable.runtime.ports import Values
from durable.runtime.storage.refusals import WriteRefused
from durable.usercode.arguments import bound, copied
from durable.usercode.failures import decisive, described, kind_of
from durable.usercode.signatures import check_call


class Completed(Struct, frozen=True):
    """The body returned a value that can be stored."""

    value: bytes
    state: bytes
    writes: Sequence[Put] = ()  # to be committed with the record, or not at all (S10)
    foreign: Sequence[Mapping[str, Any]] = ()
    running: bool = False


class Retrying(Struct, frozen=True):
    """The attempt failed, and another follows after `wait` seconds. `running`: its body has not ended (S4)."""

    error: ErrorInfo
    wait: float
    state: bytes
    running: bool = False


class FailedForGood(Struct, frozen=True):
    """The attempt failed, and no other follows. `running`: the body has not ended, so this process must (S4)."""

    kind: Kind
    error: ErrorInfo
    state: bytes
    running: bool = False


class Unreadable(Struct, frozen=True):
    """The body asked for the state, and the code of today can't read it. Whatever the body did after that does not count."""

    error: Exception
    state: bytes = b""
    running: bool = False


Outcome = Completed | Retrying | FailedForGood
Result = Outcome | Unreadable


FREE_CUTS = 20  # attempts that were cut short by their invocation: more often than that, no invocation has the time


class AttemptTimeout(DurableError):
    """The recorded error of an attempt that ran out of time."""


class Attempt(Struct, frozen=True):
    """The body to run, the number of the attempt, and how its failure is judged."""

    what: str  # "step 'charge'", for messages
    seed: str  # of the backoff's jitter
    function: Callable[..., Any]
    subject: str  # Step or Undo, for messages
    arguments: Sequence[Any]
    annotation: Any  # of the result; None: the result is not kept
    number: int  # from 1
    retry: Retry
    limit: float  # seconds
    cut: bool  # the limit is the invocation's, and shorter than elsewhere
    values: Values
    context: Context  # the context variables of the code that called the step
    threads: BodyThreads

    def run(
        self,
        make: Callable[[Access], object],
        document: Document,
        scratch: dict[str, Any],
        log: ExecutionLog,
        reach: Reach,
    ) -> Result:
        """Run the body; never raises what the body raises."""
        import time

        started = time.monotonic()
        access = Access(document, scratch, log, lambda: max(0.0, self.limit - (time.monotonic() - started)), reach)
        try:
            subject = make(access)
            check_call(self.function, self.subject, self.arguments, self.what)
            outcome = Body(bound(self.function), subject, copied(self.arguments), self.context).run(
                self.threads, self.limit
            )
        except DurableError as refusal:
            outcome = Raised(refusal)
        except StateUnreadable as why:
            outcome = Raised(why)
        finally:
            access.open = False
            reach.close(self.what)
        if document.unreadable is not None:
            return Unreadable(document.unreadable)
        match outcome:
            case Returned(value):
                return self._returned(value, document, reach)
            case Raised(error):
                return self._raised(error, document)
            case TimedOut(running):
                return self._timed_out(document, running=running)

    def refused(self, error: WriteRefused, state: bytes) -> Outcome:
        """Return the outcome of an attempt whose own writes were refused: it has failed, and may be retried (S10)."""
        if error.invalid:
            return FailedForGood("critical", described(error), state)
        return self._again(described(error), state)

    def _returned(self, value: Any, document: Document, reach: Reach) -> Outcome:
        try:
            stored = b"" if self.annotation is None else codec.encode(value, self.annotation)
            self.values.checked(stored, f"the result of {self.what}")
        except CodecError as error:
            return FailedForGood("critical", described(error), self._state(document))
        try:
            return Completed(stored, self._changes(document), reach.writes, reach.foreign)
        except CodecError as error:
            return FailedForGood("critical", described(error), b"")

    def _raised(self, error: BaseException, document: Document) -> Outcome:
        error = decisive(error)
        kind = kind_of(error)
        info = described(error)
        state = self._state(document)
        if kind is not None:
            return FailedForGood(kind, info, state)
        return self._again(info, state, raised=error)

    def _timed_out(self, document: Document, *, running: bool) -> Outcome:
        info = described(
            AttemptTimeout(f"{self.what} ran longer than its {self.limit:.3g} seconds (attempt {self.number})")
        )
        state = b"" if running else self._state(document)
        if (
            self.cut and self.number < self.retry.attempts + FREE_CUTS
        ):  # not its fault: again, where it has all its time
            return Retrying(info, 0.0, state, running)
        if not self.retry.on_timeout:
            return FailedForGood("timeout", info, state, running)
        return self._again(info, state, kind="timeout", running=running)

    def _again(
        self,
        info: ErrorInfo,
        state: bytes,
        kind: Kind = "exhausted",
        *,
        raised: BaseException | None = None,
        running: bool = False,
    ) -> Outcome:
        if self.number >= self.retry.attempts:
            return FailedForGood(kind, info, state, running)
        following = self.retry.after(self.number, raised, info, self.seed)
        if isinstance(following, ErrorInfo):  # not one of the errors that are retried, or the user's functions raise
            return FailedForGood("critical", following, state, running)
        return Retrying(info, following, state, running)

    def _changes(self, document: Document) -> bytes:
        return self.values.checked(document.changes(), "the state")

    def _state(self, document: Document) -> bytes:
        """Return what a failed attempt changed in the document: that stays (S8), unless it can't be stored."""
        try:
            return self._changes(document)
        except CodecError:
            return b""
