"""Decide what to do with a delivered message: claim, hold, resend or delete. This table is protocol rule 3.

Read from the top; the first row that fits decides. "Mine": the head's claim message is this very message.

    | the head                                    | the message       | decision                                         |
    |---------------------------------------------|-------------------|--------------------------------------------------|
    | absent (purged), or terminal                | any               | DELETE                                           |
    | of another birth, or a lower revision       | of another life   | DELETE                                           |
    |                                             | older, not mine   | DELETE                                           |
    | lease held                                  | any other         | HOLD until the lease ends                        |
    | at rest (paused, diverged)                  | any other         | DELETE: resuming makes a new revision            |
    |                                             | older, mine       | RESEND the current revision, then delete         |
    | parked without a wake time, nothing new     | current           | DELETE: a message makes a new continuation       |
    | parked, not due                             | current           | HOLD until the wake time                         |
    |                                             | current           | CLAIM                                            |

A message is deleted only for a reason that can never cease to hold (E6). The receive count decides nothing: it counts
throttling and broken deploys too.

Where the execution was claimed and not given back, the invocation that claimed it has died, or it is late: by its own clock
it may still work. Before its message is deleted, the fence is raised. Else it could move the execution on, and die before
it sends: nothing would be left.
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
    """A row of the table: the action, the reason, for the log, and until when to hold."""

    action: Action
    reason: str
    until: int = 0
    fence: bool = False  # raise the fence first: whoever is late writes nothing more


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
    late = head.claims > 0 or head.undoing > 0  # a holder of either phase may move it on
    if head.status in AT_REST:
        return Ruling(Action.DELETE, f"the execution is {head.status}", fence=late)
    if older:
        return Ruling(Action.RESEND, "the invocation that moved it on may have died before it sent", fence=late)
    if head.parked(now):
        if head.wake >= FOREVER:
            return Ruling(Action.DELETE, "the execution waits for a message")
        return Ruling(Action.HOLD, "the execution sleeps", head.wake)
    return Ruling(Action.CLAIM, "")
