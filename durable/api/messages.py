"""Messages: what is sent to an execution's queues, and what the workflow receives (Q1 to Q3)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

import msgspec

from durable import codec
from durable.api.generics import Declared, Valued
from durable.codec import NOTHING, formats
from durable.errors import InvalidCall, InvalidInput, InvalidName
from durable.usercode.durations import moment_of
from durable.usercode.names import size
from durable.usercode.signatures import checked_type

if TYPE_CHECKING:
    from durable.api.generics import B, R, T_co

MAX_NAME = 128  # bytes of a queue's name: it is a part of a key


class Sent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message as it is stored; `number` orders all messages of an execution, whatever the senders' clocks say."""

    id: str
    queue: str
    number: int
    body: msgspec.Raw = NOTHING  # in the codec's tagged form
    kept: str = ""  # the reference of a body that is too large to be here
    sent: int = 0
    format: int = 1


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The response to a message as it is stored."""

    body: msgspec.Raw = NOTHING  # in the codec's tagged form
    kept: str = ""  # the reference of one that is too large to be here
    format: int = 1


class _Formatted(msgspec.Struct):
    format: int = 1


_read_format = msgspec.json.Decoder(_Formatted).decode
_read_sent = msgspec.json.Decoder(Sent).decode
_read_reply = msgspec.json.Decoder(Reply).decode


def read_sent(data: bytes) -> Sent:
    """Return a message that was stored; raises NewerFormat."""
    formats.checked(_read_format(data).format, "a message")
    return _read_sent(data)


def read_reply(data: bytes) -> Reply:
    """Return a response that was stored; raises NewerFormat."""
    formats.checked(_read_format(data).format, "the response to a message")
    return _read_reply(data)


class Queue(Declared["B", "R"]):
    """A declared queue: typed on both sides, so that a bad body is refused at the sender."""

    if TYPE_CHECKING:

        @overload
        def __new__(cls, name: str, body: type[B], reply: None = None) -> Queue[B, None]: ...
        @overload
        def __new__(cls, name: str, body: type[B], reply: type[R]) -> Queue[B, R]: ...
        def __new__(cls, name: str, body: Any, reply: Any = None) -> Any: ...

        name: str
        body: type[B]
        reply: type[R] | None

    else:

        def __init__(self, name, body, reply=None):
            self.name = checked_queue(name)
            self.body = checked_type(body, f"queue '{name}': body")
            self.reply = checked_type(reply, f"queue '{name}': reply")

    def __repr__(self) -> str:
        return f"Queue({self.name!r})"


class Message(Valued["T_co"]):
    """A message that the workflow has taken; nobody will get it again."""

    stored_instead = "Return its .body."
    __slots__ = ("_annotation", "_complete", "_refusal", "_sent", "_stored", "id", "queue")

    def __init__(
        self,
        sent: Sent,
        stored: bytes,
        annotation: Any,
        refusal: InvalidInput | None,
        complete: Callable[[object], None] | None,
    ) -> None:
        self.id = sent.id
        self.queue = sent.queue
        self._sent = sent
        self._stored = stored
        self._annotation = annotation
        self._refusal = refusal  # why the body did not fit when the message was taken
        self._complete = complete

    @property
    def body(self) -> T_co:
        """What was sent, as the type that was asked for; raises InvalidInput that names the field when it does not fit."""
        self.check()
        body: T_co = body_of(self._sent, self._annotation, self._stored)
        return body

    def check(self) -> None:
        """Raise InvalidInput when the body did not fit when the message was taken."""
        if self._refusal is not None:
            raise self._refusal

    @property
    def sent_at(self) -> datetime:
        """When it was sent."""
        return moment_of(self._sent.sent)

    def complete(self, response: object = None) -> None:
        """Answer the sender, once; of a message that was received with `completable=True`."""
        if self._complete is None:
            raise InvalidCall(
                f"message '{self.id}' was received without completable=True: its sender waits for no response"
            )
        self._complete(response)

    def __repr__(self) -> str:
        return f"<message {self.id} on {self.queue}>"


def body_of(sent: Sent, annotation: Any, stored: bytes) -> Any:
    """Return a message's body as the type that the receiver asked for; raises InvalidInput and CodecError."""
    try:
        is_text, value = codec.read_by(stored, Any if annotation is None else annotation)
        return value if is_text or annotation is None else fitted(value, annotation)
    except InvalidInput as error:
        raise InvalidInput(f"message '{sent.id}' on queue '{sent.queue}' does not fit: {error}", error.path) from error


def fitted(value: Any, annotation: Any) -> Any:
    """The value as it is when it is of the type, else made from it where it is plain JSON; raises InvalidInput."""
    try:
        return codec.check(value, annotation)
    except InvalidInput:
        return codec.accept(value, annotation)


def checked_message_id(message_id: object) -> str:
    """A message id of the sender's; raises InvalidName."""
    if not isinstance(message_id, str) or not 1 <= size(message_id, "message id") <= MAX_NAME:
        raise InvalidName(f"a message id is a string of 1 to {MAX_NAME} bytes, not {message_id!r}")
    return message_id


def checked_queue(name: object) -> str:
    """A queue's name; raises InvalidName."""
    if not isinstance(name, str) or not name:
        raise InvalidName(f"a queue's name is a string that is not empty, not {name!r}")
    if size(name, "queue name") > MAX_NAME:
        raise InvalidName(f"the queue name '{name[:40]}…' is longer than {MAX_NAME} bytes")
    return name
