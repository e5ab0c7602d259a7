"""Updates of a head, evaluated in this process: whether its conditions hold, and the head after it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from durable.protocol.head import Head
from durable.protocol.updates import Update, Where
from durable.usercode.durations import FOREVER


def holds(head: Head, where: Where) -> bool:
    """Return whether every given condition holds of the head."""
    return (
        (where.status is None or head.status in where.status)
        and (where.revision is None or head.revision == where.revision)
        and (where.fence is None or head.fence == where.fence)
        and (where.inbox is None or head.inbox == where.inbox)
        and (where.due is None or (head.due == where.due and head.due != 0))
        and (where.asleep is None or (head.wake == FOREVER) == where.asleep)
        and (where.free_at is None or head.lease <= where.free_at)
        and (where.state is None or (head.state, head.state_at) == where.state)
        and (where.unparked_at is None or not head.parked(where.unparked_at))
        and (where.birth is None or head.birth == where.birth)
        and (where.asked is None or head.asked == where.asked)
        and (where.unpurged_at is None or head.purging <= where.unpurged_at)
    )


def applied(head: Head, update: Update) -> Head:
    """Return the head after the update."""
    changes: dict[str, Any] = dict(update.write)
    for name, amount in update.add.items():
        changes[name] = getattr(head, name) + amount
    return replace(head, **changes)
