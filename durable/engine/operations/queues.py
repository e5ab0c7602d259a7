"""A wait for messages: durable, first in first out, each message taken once (Q1, Q2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from durable import codec
from durable.api.messages import Message, Sent
from durable.engine.entries import FOREVER, Entry, EntryKind, EntryStatus, with_value
from durable.engine.replay import Replay, Scope
from durable.errors import InvalidCall

_decoder = msgspec.json.Decoder(list[Sent])


class Receive(Struct, frozen=True):
    """A wait as the code asks for it; `queues` None: any queue; `timeout` in milliseconds, None: for ever."""

    name: str
    queues: Sequence[str] | None
    body: Any
    count: int
    timeout: int | None
    completable: bool


def receive(replay: Replay, scope: Scope, call: Receive) -> list[Message[Any]]:
    """The messages, at least one; none when the timeout came first. Which it was is recorded before any later body runs."""
    replay.enter(scope)
    path = scope.name(call.name)
    entry = replay.visit(path, EntryKind.QUEUE)
    if entry is None or entry.status is EntryStatus.WAITING:
        entry = _settle(replay, path, call, entry)
    replay.passed(path, entry.ended)
    sent = _decoder.decode(entry.stored[1:])
    return [_message(replay, scope, path, call, each, at) for at, each in enumerate(sent)]


def _settle(replay: Replay, path: str, call: Receive, entry: Entry | None) -> Entry:
    if replay.undoing:
        replay.suspend()
    now = replay.driver.now()
    if entry is None:
        until = FOREVER if call.timeout is None else now + call.timeout
        entry = Entry(
            path=path,
            kind=EntryKind.QUEUE,
            status=EntryStatus.WAITING,
            order=replay.history.next_order,
            started=now,
            until=until,
        )
        fresh = True
    else:
        fresh = False
    with replay.asking():
        messages = replay.driver.messages(call.queues, call.count)
    if not messages and replay.now < entry.until and call.timeout != 0:
        replay.park(entry.until, entry if fresh else None)
    took: dict[str, list[int]] = {}
    for message in messages:
        took.setdefault(message.queue, []).append(message.number)
    settled = msgspec.structs.replace(entry, status=EntryStatus.COMPLETED, ended=now, until=0, took=took)
    settled = with_value(settled, codec.TAGGED + msgspec.json.encode(messages))
    replay.note(settled, first=True)
    return settled


def _message(replay: Replay, scope: Scope, path: str, call: Receive, sent: Sent, at: int) -> Message[Any]:
    def complete(response: object) -> None:
        replay.reach(scope)  # a message may be completed in a block or loop further in
        reply = f"{path}/reply" if at == 0 else f"{path}/reply#{at + 1}"
        if replay.has_visited(reply):
            raise InvalidCall(f"message '{sent.id}' was completed before: a message has one response")
        # Before the history is asked: what can't be stored leaves no trace there, and is refused again by every replay.
        stored = replay.driver.checked(codec.encode(response), f"the response to message '{sent.id}'")
        entry = replay.visit(reply, EntryKind.REPLY)
        if entry is None:
            if replay.undoing:
                replay.suspend()
            now = replay.driver.now()
            with replay.asking():
                replay.driver.reply(sent, stored)
            order = replay.history.next_order
            inside = "" if scope.inside is None else scope.innermost.path  # passed over with it, once it is forgotten
            replay.note(Entry(path=reply, kind=EntryKind.REPLY, order=order, started=now, ended=now, inside=inside))

    return Message(sent, call.body, replay.history.fetch, complete if call.completable else None)
