"""Sending to an execution: the message is kept with it, in order, from the moment the execution exists (Q2)."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from durable import codec
from durable.api.messages import Sent, fitted, read_reply
from durable.codec import NOTHING, formats
from durable.errors import CodecError, ExecutionBusy, ExecutionNotFound, InvalidInput, InvalidState
from durable.protocol import commands, keys
from durable.protocol.expiry import forgotten
from durable.protocol.head import Head
from durable.protocol.updates import Put, Refused
from durable.protocol.wakes import next_wake
from durable.runtime import followups
from durable.runtime.ports import Ports
from durable.runtime.storage.values import INLINE

TRIES = 20  # sends that meet each other


def send(ports: Ports, head: Head, name: str, body: bytes, message_id: str, *, own_id: bool) -> None:
    """Put a message into an execution's queue and wake it (protocol rule 7); the same id again is taken once.

    Raises InvalidState for an execution that has ended (Q6).
    """
    nonce = ports.nonces()
    message = _message(ports, head, name, body, message_id, nonce)
    try:
        put = _put(ports, head, message, nonce, own_id=own_id)
    except (ExecutionNotFound, InvalidState, ExecutionBusy):
        _discard(ports, head, message)
        raise
    if put is None:
        _discard(ports, head, message)
        put = ports.store.read(head.execution_id)
    now = ports.clock.now()
    if put is not None and next_wake(put, now) == now:  # whoever sent it before may have died before it woke it
        followups.send_again(ports.queue, put, now)


def _message(ports: Ports, head: Head, name: str, body: bytes, message_id: str, nonce: str) -> Sent:
    inline, kept = msgspec.Raw(body[1:]), ""
    if len(body) > INLINE:
        key = keys.payload(head.birth, "message", nonce)
        inline, kept = NOTHING, ports.values.keep(head.execution_id, key, body)
    return Sent(id=message_id, queue=name, number=0, body=inline, kept=kept, format=formats.FORMAT)


def _put(ports: Ports, head: Head, message: Sent, nonce: str, *, own_id: bool) -> Head | None:
    """Write the message; returns the head after it, or None when the message was sent before."""
    identity = commands.identity_of(nonce)
    used = keys.sent(head.birth, message.id)
    seen: Head | None = head
    for _ in range(TRIES):
        if seen is None or seen.birth != head.birth:
            raise ExecutionNotFound(f"there is no execution '{head.execution_id}'")
        if seen.terminal:
            if own_id and (by := ports.store.find(head.execution_id, used)) is not None:
                return seen if by == nonce.encode() else None  # sent before the end, and perhaps answered
            raise InvalidState(f"execution '{seen.execution_id}' is {seen.status}: it takes no messages any more")
        sent = replace(message, number=seen.inbox + 1, sent=ports.clock.now())
        puts = [Put(keys.message(sent.queue, sent.number), msgspec.json.encode(sent), new=True)]
        if own_id:
            puts.append(Put(used, nonce.encode(), new=True, expires=forgotten(sent.sent)))
        answer = ports.store.together(commands.send(seen, identity, sent.sent), puts)
        if isinstance(answer, Head):
            return answer
        if isinstance(answer, Refused):
            seen = answer.head
        elif own_id and (by := ports.store.find(head.execution_id, used)) is not None:
            return ports.store.read(head.execution_id) if by == nonce.encode() else None
        else:
            seen = ports.store.read(head.execution_id)
        if seen is not None and commands.applied(seen, identity):  # its answer was lost
            return seen
    raise ExecutionBusy(f"execution '{head.execution_id}' gets messages faster than this one could be sent; try again")


def _discard(ports: Ports, head: Head, message: Sent) -> None:
    """Delete the large body of a message that was not written."""
    if message.kept:
        ports.values.drop(head.execution_id, [message.kept])


def encoded(ports: Ports, body: object, annotation: object, name: str) -> bytes:
    """A message's body for storage; raises InvalidInput that names the field when it does not fit a declared queue.

    JSON text from outside, as a msgspec.Raw, is read by the workflow's type when it is taken.
    """
    try:
        if annotation is not None:
            body = codec.check(body, annotation)
    except InvalidInput as error:
        raise InvalidInput(f"the message to queue '{name}' does not fit: {error}", error.path) from error
    try:
        stored = codec.keep_text(bytes(body)) if isinstance(body, msgspec.Raw) else codec.encode(body)
        return ports.values.checked(stored, "it")
    except CodecError as error:
        raise InvalidInput(f"the message to queue '{name}' can't be stored: {error}", error.path) from error


def response_to(ports: Ports, head: Head, message_id: str, until: int) -> bytes:
    """The response to a message, waited for.

    Raises ExecutionBusy when there is none in time, InvalidState when the execution has ended without one.
    """
    pause = 0.1
    ended = ""
    while True:
        response = ports.store.find(head.execution_id, keys.reply(head.birth, message_id))
        if response is not None:
            reply = read_reply(response)
            return ports.values.kept(head.execution_id, reply.kept) if reply.kept else codec.TAGGED + bytes(reply.body)
        if ended:
            raise InvalidState(
                f"execution '{head.execution_id}' {ended}: message '{message_id}' gets no response any more"
            )
        now = ports.store.read(head.execution_id)
        if now is None or now.terminal:
            ended = "has gone" if now is None else f"is {now.status}"
            continue  # it may have answered just before
        left = (until - ports.clock.now()) / 1000
        if left <= 0:
            raise ExecutionBusy(f"execution '{head.execution_id}' has not answered message '{message_id}' in time")
        ports.clock.sleep(min(pause, left))
        pause = min(2.0, pause * 2)


def replied(response: bytes, annotation: object, message_id: str) -> object:
    """A response as the type that the queue declares; raises InvalidInput that names the field when it does not fit."""
    value = codec.decode(response)
    if annotation is None:
        return value
    try:
        return fitted(value, annotation)
    except InvalidInput as error:
        raise InvalidInput(f"the response to message '{message_id}' does not fit: {error}", error.path) from error
