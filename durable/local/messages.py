"""Message queues as SQS has them: standard queues with delay, visibility, receive counts and dead letters.

A message keeps its id over all deliveries. A receipt is of one delivery; an older one of the same message works too, and
one of a message that is gone does nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from durable.errors import ConfigurationError
from durable.local.database import Database
from durable.runtime.ports import Clock, Nonces

_COLUMNS = "number, id, queue, body, attributes, sent, visible, received, first, origin, copy"

_INSERT = f"INSERT INTO message ({_COLUMNS.removeprefix('number, ')}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FIRST = "SELECT * FROM (SELECT visible, number, queue FROM message WHERE queue = ? ORDER BY visible, number LIMIT 1)"


class QueueSettings(Struct, frozen=True):
    """How a queue treats its messages."""

    visibility: int = 30  # seconds that a received message stays invisible
    delay: int = 0  # seconds that a message waits which brings no delay of its own
    dead_letters: str = ""  # the queue to which messages go that were received too often
    receives: int = 0  # how often a message is delivered before that


class Message(Struct, frozen=True):
    """A message in a queue. Times are milliseconds since the epoch."""

    number: int
    id: str
    queue: str
    body: str
    attributes: Mapping[str, Any]  # as SendMessage takes them
    sent: int
    visible: int  # from when it can be received
    received: int  # how often it was
    first: int  # when it was received first; 0: never
    origin: str  # the queue that it was a dead letter of
    copy: int  # above zero: a second delivery of a message, made on purpose

    @property
    def receipt(self) -> str:
        """What names this delivery."""
        return f"{self.number}.{self.received}.{self.id}"


class Messages:
    """The queues of one database."""

    def __init__(self, database: Database, queues: Mapping[str, QueueSettings], clock: Clock, ids: Nonces) -> None:
        self._database = database
        self._queues = queues
        self._clock = clock
        self._ids = ids
        self._copied = False  # copies are made and delivered in one process
        self.listeners: list[Callable[[Message], object]] = []  # called with each message that was sent

    def send(
        self, queue: str, body: str, delay: float | None = None, attributes: Mapping[str, Any] | None = None
    ) -> Message:
        """Put a message into a queue; it is visible after the delay, in seconds: by default the queue's own."""
        settings, now = self._settings(queue), self._clock.now()
        visible = now + round((settings.delay if delay is None else delay) * 1000)
        with self._database as connection:
            message = _insert(
                connection, Message(0, self._ids(), queue, body, attributes or {}, now, visible, 0, 0, "", 0)
            )
        for listener in self.listeners:
            listener(message)
        return message

    def copy(self, message: Message, visible: int) -> Message:
        """Let a message (waiting, received or gone) be delivered once more at that time, under its own id."""
        self._copied = True
        with self._database as connection:
            (copies,) = connection.execute("SELECT ifnull(max(copy), 0) FROM message").fetchone()
            return _insert(
                connection, msgspec.structs.replace(message, visible=visible, received=0, first=0, copy=copies + 1)
            )

    def receive(self, queue: str, count: int) -> list[Message]:
        """Return up to so many visible messages, copies first; they are invisible for the queue's time.

        One that was received as often as its queue allows goes to the dead letters instead.
        """
        settings, now = self._settings(queue), self._clock.now()
        found: list[Message] = []
        with self._database as connection:
            while visible := _visible(connection, queue, now, count - len(found), copies=self._copied):
                for message in visible:
                    if settings.receives and message.received >= settings.receives and not message.copy:
                        _move(connection, message, settings.dead_letters, now)
                    else:
                        found.append(_received(connection, message, now, settings.visibility))
        return found

    def delete(self, receipt: str) -> None:
        """Delete a message; nothing happens if it is gone."""
        number, message_id = _parsed(receipt)
        with self._database as connection:
            connection.execute("DELETE FROM message WHERE number = ? AND id = ?", (number, message_id))

    def show(self, receipt: str, seconds: float) -> bool:
        """Make a received message visible after so many seconds; False when it is gone, or visible already."""
        number, message_id = _parsed(receipt)
        now = self._clock.now()
        with self._database as connection:
            changed = connection.execute(
                "UPDATE message SET visible = ? WHERE number = ? AND id = ? AND visible > ?",
                (now + round(seconds * 1000), number, message_id, now),
            )
            return changed.rowcount == 1

    def waiting(self, queue: str | None = None) -> list[Message]:
        """Return what is in a queue, or in all of them, soonest visible first."""
        where, values = ("", ()) if queue is None else ("WHERE queue = ?", (queue,))
        found = self._database.rows(f"SELECT {_COLUMNS} FROM message {where} ORDER BY visible, number", values)
        return [_message(row) for row in found]

    def firsts(self, queues: Sequence[str]) -> list[tuple[int, str]]:
        """Return when the next message of each of these queues is visible, and its queue, soonest first."""
        found = self._database.rows(" UNION ALL ".join([_FIRST] * len(queues)), queues) if queues else []
        return [(moment, queue) for moment, _, queue in sorted(found)]

    def _settings(self, queue: str) -> QueueSettings:
        if queue not in self._queues:
            raise ConfigurationError(f"there is no queue {queue!r}; there are {', '.join(self._queues)}.")
        return self._queues[queue]


def _insert(connection: sqlite3.Connection, message: Message) -> Message:
    attributes = msgspec.json.encode(message.attributes).decode() if message.attributes else ""
    values = msgspec.structs.astuple(message)
    added = connection.execute(_INSERT, (*values[1:4], attributes, *values[5:]))
    return msgspec.structs.replace(message, number=added.lastrowid)


def _visible(connection: sqlite3.Connection, queue: str, now: int, count: int, *, copies: bool) -> list[Message]:
    """Return the copies that are visible, else the others, each the longest visible first."""
    for which in ("copy > 0 AND", "") if copies else ("",):
        found = connection.execute(
            f"SELECT {_COLUMNS} FROM message WHERE {which} queue = ? AND visible <= ? ORDER BY visible, number LIMIT ?",
            (queue, now, count),
        ).fetchall()
        if found:
            return [_message(row) for row in found]
    return []


def _received(connection: sqlite3.Connection, message: Message, now: int, visibility: int) -> Message:
    visible, received, first = now + visibility * 1000, message.received + 1, message.first or now
    connection.execute(
        "UPDATE message SET visible = ?, received = ?, first = ? WHERE number = ?",
        (visible, received, first, message.number),
    )
    return msgspec.structs.replace(message, visible=visible, received=received, first=first)


def _move(connection: sqlite3.Connection, message: Message, queue: str, now: int) -> None:
    """A dead letter keeps its id, and is counted anew."""
    connection.execute(
        "UPDATE message SET queue = ?, visible = ?, received = 0, origin = ? WHERE number = ?",
        (queue, now, message.queue, message.number),
    )


def _message(row: tuple[Any, ...]) -> Message:
    number, message_id, queue, body, attributes, *others = row
    return Message(number, message_id, queue, body, msgspec.json.decode(attributes) if attributes else {}, *others)


def _parsed(receipt: str) -> tuple[int, str]:
    """Return the number and id of the message; those of none if it is no receipt of this queue."""
    number, _, rest = receipt.partition(".")
    return (int(number), rest.partition(".")[2]) if number.isdecimal() else (0, "")
