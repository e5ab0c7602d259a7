"""What `ctx.queue` is: the receiving side of an execution's queues."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, overload

from durable.api.calls import Operations, ReceiveCall
from durable.api.messages import Message, Queue, checked_queue
from durable.errors import InvalidCall, QueueTimeout, StepOnly
from durable.usercode.durations import Duration, later, seconds
from durable.usercode.signatures import checked_type

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T")


class ContextQueue:
    """Durable waits for messages. `queues`: a name, several, a declared Queue; None waits on all."""

    __slots__ = ("_scope",)

    def __init__(self, scope: Operations) -> None:
        self._scope = scope

    @overload
    def next(
        self,
        name: str,
        queues: str | Sequence[str] | None = None,
        *,
        timeout: Duration | None = None,
        completable: bool = False,
    ) -> Message[Any]: ...
    @overload
    def next(
        self,
        name: str,
        queues: str | Sequence[str] | None = None,
        *,
        body: type[T],
        timeout: Duration | None = None,
        completable: bool = False,
    ) -> Message[T]: ...
    @overload
    def next(
        self, name: str, queues: Queue[T, Any], *, timeout: Duration | None = None, completable: bool = False
    ) -> Message[T]: ...
    def next(
        self,
        name: str,
        queues: str | Sequence[str] | Queue[Any, Any] | None = None,
        *,
        body: Any = None,
        timeout: Duration | None = None,
        completable: bool = False,
    ) -> Any:
        """The next message, taken once; seconds or a timedelta of `timeout`, None: wait for ever.

        Raises QueueTimeout when none came in time, InvalidInput when the body does not fit: the message is taken, and
        the wait does not loop.
        """
        call = _call(name, queues, body, 1, timeout, completable)
        messages = self._scope.receive(call)
        if not messages:
            raise QueueTimeout(f"no message came to '{name}' within {timeout}")
        messages[0].check()
        return messages[0]

    @overload
    def next_batch(
        self,
        name: str,
        queues: str | Sequence[str] | None = None,
        *,
        count: int = 1,
        timeout: Duration | None = None,
        completable: bool = False,
    ) -> list[Message[Any]]: ...
    @overload
    def next_batch(
        self,
        name: str,
        queues: str | Sequence[str] | None = None,
        *,
        body: type[T],
        count: int = 1,
        timeout: Duration | None = None,
        completable: bool = False,
    ) -> list[Message[T]]: ...
    @overload
    def next_batch(
        self,
        name: str,
        queues: Queue[T, Any],
        *,
        count: int = 1,
        timeout: Duration | None = None,
        completable: bool = False,
    ) -> list[Message[T]]: ...
    def next_batch(
        self,
        name: str,
        queues: str | Sequence[str] | Queue[Any, Any] | None = None,
        *,
        body: Any = None,
        count: int = 1,
        timeout: Duration | None = None,
        completable: bool = False,
    ) -> Any:
        """Up to `count` messages as soon as there is one; an empty list when none came in time.

        A message whose body does not fit raises InvalidInput when its `.body` is read; the others are as good as ever.
        """
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise InvalidCall(f"queue wait '{name}': count is a whole number from 1, not {count!r}")
        return self._scope.receive(_call(name, queues, body, count, timeout, completable))

    if not TYPE_CHECKING:

        def send(self, *_arguments: Any, **_named: Any) -> NoReturn:
            """Sending is an effect: it belongs into a step."""
            raise StepOnly(
                "ctx.queue.send does not exist: sending is only available inside a running step. Use step.queue.send for "
                "this execution, or step.client for another."
            )


def _call(
    name: str,
    queues: str | Sequence[str] | Queue[Any, Any] | None,
    body: Any,
    count: int,
    timeout: Duration | None,
    completable: bool,
) -> ReceiveCall:
    if isinstance(queues, Queue):
        if body is not None:
            raise InvalidCall(f"queue wait '{name}': {queues!r} says what its messages are; leave body= out")
        names: list[str] | None = [queues.name]
        body = queues.body
    elif queues is None:
        names = None
    else:
        several = [queues] if isinstance(queues, str) else queues
        if not isinstance(several, Collection) or any(isinstance(each, Queue) for each in several):
            raise InvalidCall(
                f"queue wait '{name}': queues is a name, several names, or one declared Queue, not {queues!r}"
            )
        names = [checked_queue(each) for each in dict.fromkeys(several)]
        if not names:
            raise InvalidCall(f"queue wait '{name}': no queue is named; write queues=None to wait on all")
    checked_type(body, f"queue wait '{name}': body")
    length = None if timeout is None else later(0, seconds(timeout, f"queue wait '{name}': timeout"))
    return ReceiveCall(name, names, body, count, length, completable)
