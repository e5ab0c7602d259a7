"""Decide what to do with a delivered message: claim, hold, resend or delete. This table is protocol rule 3.

Read from the top; the first row that fits decides. "Mine": the head's claim message is this very message.

    | the head                                    | the message       | decision                                         |
    |---------------------------------------------|-------------------|--------------------------------------------------|
    | absent (purged), or terminal                | any               | DELETE                                           |
    | of another birth, or a lower revision       | of another life   | DELETE                                           |
    |                                             | older, not mine   | DELETE                                           |
    | lease held                                  | older, mine       | HOLD until the lease ends                        |
    | at rest (paused, diverged)                  | older, mine       | DELETE                                           |
    | lease held                                  | current           | HOLD until the lease ends                        |
    | at rest (paused, diverged)                  | current           | DELETE: resuming makes a new revision            |
    | claimed and not given back since            | older, mine       | CLAIM the current revision                       |
    |                                             | older, mine       | RESEND the current revision, then delete         |
    | parked without a wake time, nothing new     | current           | DELETE: a message makes a new continuation       |
    | parked, not due                             | current           | HOLD until the wake time                         |
    |                                             | current           | CLAIM                                            |

A message is deleted only for a reason that can never cease to hold (E6). The receive count decides nothing: it counts
throttling and broken deploys too.

A message whose own claim moved the execution on, and has not given it back, is not replaced by another: its invocation
may be late, and still work. It would move the execution on once more, and nothing would be left if it then could not send.
So the message claims again, and the new fence refuses what is late.
"""

from __future__ import annotations

from enum import Enum, StrEnum, auto

from msgspec import UNSET, Struct

from durable.protocol.continuation import Delivery
from durable.protocol.head import AT_REST, Head
from durable.usercode.durations import FOREVER


class Verdict(StrEnum):
    """What becomes of a delivered message."""

    DELETE = "delete"
    RETURN = "return"  # it comes back: report it as failed


class Action(Enum):
    """What to do with a delivery."""

    DELETE = auto()
    HOLD = auto()
    RESEND = auto()
    CLAIM = auto()


class Ruling(Struct, frozen=True):
    """A row of the table: the action, until when to hold, and the reason, for the log."""

    action: Action
    reason: str
    until: int = 0


def rule(head: Head | None, delivery: Delivery, now: int) -> Ruling:
    """The row of the table that fits."""
    if head is None or head.terminal:
        return Ruling(Action.DELETE, "the execution has ended")
    revision, birth = delivery.continuation.revision, delivery.continuation.birth
    if birth not in (UNSET, head.birth) or revision > head.revision:
        return Ruling(Action.DELETE, "the message is of an earlier execution of this id")
    older = revision < head.revision
    if older and head.message != delivery.message_id:
        return Ruling(Action.DELETE, "the execution has moved on")
    if head.held(now):
        return Ruling(Action.HOLD, "another invocation holds the execution", head.lease)
    if head.status in AT_REST:
        return Ruling(Action.DELETE, f"the execution is {head.status}")
    if older and not head.unaccounted:
        return Ruling(Action.RESEND, "the invocation that moved it on may have died before it sent the continuation")
    if head.parked(now):
        if head.wake >= FOREVER:
            return Ruling(Action.DELETE, "the execution waits for a message")
        return Ruling(Action.HOLD, "the execution sleeps", head.wake)
    return Ruling(Action.CLAIM, "")
