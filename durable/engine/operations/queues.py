"""A wait for messages: durable, first in first out, each message taken once (Q1, Q2)."""

from __future__ import annotations

from typing import Any

import msgspec

from durable import codec
from durable.api.calls import ReceiveCall
from durable.api.messages import Message, Sent, body_of
from durable.engine.branch import Branch
from durable.engine.entries import Misfit, QueueEntry, ReplyEntry
from durable.engine.operations.guarded import guarded
from durable.engine.outcomes import NeedsMessages, Replies
from durable.engine.recorded import EntryStatus
from durable.engine.scope import CodeScope
from durable.errors import HistoryDiverged, InvalidCall, InvalidInput
from durable.usercode.durations import FOREVER


@guarded
def receive(scope: CodeScope, call: ReceiveCall) -> list[Message[Any]]:
    """Return the messages, at least one; none when the timeout came first."""
    branch = scope.enter()
    path, leaf = scope.name(call.name)
    entry = branch.visit(scope.recorded, leaf, path, QueueEntry)
    if entry is None or not entry.settled:
        entry = _settle(branch, path, call, entry)
    branch.passed(path, entry.ended)
    return [_message(scope, path, call, entry, at) for at in range(len(entry.messages))]


def _settle(branch: Branch, path: str, call: ReceiveCall, waiting: QueueEntry | None) -> QueueEntry:
    """Take what has come, or see that the time is over, or park; which it was is recorded before any later body runs."""
    replay = branch.replay
    if replay.collecting:
        branch.stop()
    now = replay.time
    entry = waiting or QueueEntry(
        path=path,
        status=EntryStatus.WAITING,
        order=replay.history.next_order,
        started=now,
        until=FOREVER if call.timeout is None else min(FOREVER, now + call.timeout),
    )
    messages: list[Sent] = list(branch.ask(NeedsMessages(call.queues, call.count)))
    if not messages and replay.now < entry.until and call.timeout != 0:
        branch.park(entry.until, entry if waiting is None else None)
    took: dict[str, list[int]] = {}
    for message in messages:
        took.setdefault(message.queue, []).append(message.number)
    settled = msgspec.structs.replace(
        entry,
        status=EntryStatus.COMPLETED,
        ended=now,
        until=0,
        took=took,
        messages=messages,
        misfits=_misfits(branch, messages, call.body),
    )
    replay.note(settled)
    return settled


def _misfits(branch: Branch, messages: list[Sent], annotation: Any) -> dict[int, Misfit]:
    """Return which messages do not fit what the code asks for: recorded, so that every replay raises the same."""
    found: dict[int, Misfit] = {}
    for at, message in enumerate(messages):
        try:
            body_of(message, annotation, _stored(branch, message))
        except InvalidInput as error:
            found[at] = Misfit(str(error), error.path)
        except Exception as error:
            found[at] = Misfit(f"message '{message.id}' on queue '{message.queue}' can't be read: {error}", "$")
    return found


def _stored(branch: Branch, message: Sent) -> bytes:
    return branch.fetched(message.kept) if message.kept else codec.TAGGED + bytes(message.body)


def _message(scope: CodeScope, path: str, call: ReceiveCall, entry: QueueEntry, at: int) -> Message[Any]:
    branch, sent, misfit = scope.branch, entry.messages[at], entry.misfits.get(at)
    stored = _stored(branch, sent)
    if misfit is None:
        try:
            body_of(sent, call.body, stored)
        except Exception as error:  # it could be read when it was taken
            what = f"message '{sent.id}' on queue '{sent.queue}'"
            branch.diverge(HistoryDiverged(path, what, f"a type that can't read it: {error}"), error)
    refusal = None if misfit is None else InvalidInput(misfit.message, misfit.path)

    def complete(response: object) -> None:
        _complete(scope, path, "reply" if at == 0 else f"reply#{at + 1}", sent, response)

    return Message(sent, stored, call.body, refusal, complete if call.completable else None)


@guarded
def _complete(scope: CodeScope, wait: str, name: str, sent: Sent, response: object) -> None:
    """Answer the sender of a message; it may be answered in a block or loop further in."""
    branch = scope.reach()
    replay, inner = branch.replay, scope.innermost
    path = f"{wait}/{name}"
    inside = "" if inner is scope else inner.path
    if replay.history.is_answered(path):
        raise InvalidCall(f"message '{sent.id}' was completed before: a message has one response")
    # Before the history is asked: what can't be stored leaves no trace there, and is refused again by every replay.
    stored = replay.check(codec.encode(response), f"the response to message '{sent.id}'")
    recorded = inner.recorded if inside else replay.history.scope(wait)
    entry = branch.visit(recorded, path if inside else name, path, ReplyEntry)
    if entry is None:
        if not replay.collecting:
            branch.ask(Replies(sent, stored))
        order = replay.history.next_order
        replay.note(ReplyEntry(path=path, order=order, started=replay.time, ended=replay.time, inside=inside))
