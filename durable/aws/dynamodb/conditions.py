"""What reads and writes demand and change, as pynamodb expressions. Each condition has a name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import and_, or_

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action

from durable.aws.dynamodb.table import HeadItem, ValueItem, is_absent
from durable.codec import formats
from durable.protocol.head import Status
from durable.protocol.updates import Update, Where
from durable.usercode.durations import FOREVER


def both(*conditions: Condition) -> Condition:
    """All of them hold."""
    return reduce(and_, conditions)


def either(*conditions: Condition) -> Condition:
    """One of them holds."""
    return reduce(or_, conditions)


def exists() -> Condition:
    """There is such an execution: an update must not make one."""
    return HeadItem.pk.exists()


def is_known() -> Condition:
    """Its format is not newer than this code."""
    return either(HeadItem.format.does_not_exist(), HeadItem.format <= formats.FORMAT)


def is_new() -> Condition:
    """There is no such execution."""
    return HeadItem.pk.does_not_exist()


def in_status(statuses: frozenset[Status]) -> Condition:
    """Its status is one of these."""
    return HeadItem.status.is_in(*sorted(statuses))


def lease_is_over(now: int) -> Condition:
    """Nobody holds it."""
    return HeadItem.lease <= now


def may_wake(now: int) -> Condition:
    """It is not parked, or its wake time has come, or a message has come since it parked."""
    return either(HeadItem.wake.does_not_exist(), HeadItem.wake <= now, HeadItem.inbox > HeadItem.seen)


def sleeps_for_ever(asleep: bool) -> Condition:
    """It is parked with no wake time, or it is not."""
    if asleep:
        return HeadItem.wake == FOREVER
    return either(HeadItem.wake.does_not_exist(), HeadItem.wake < FOREVER)


def has_state(state: bytes, state_at: str) -> Condition:
    """Its document is this: on the head, or in the item of this key."""
    inline = HeadItem.state == state if state else HeadItem.state.does_not_exist()
    return both(inline, HeadItem.state_at == state_at if state_at else HeadItem.state_at.does_not_exist())


def was_born(birth: int) -> Condition:
    """It is the execution of this birth, and no other of its id."""
    return HeadItem.created == birth


def was_asked(asked: str) -> Condition:
    """These are the identities of the last writes of clients."""
    return HeadItem.asked == asked if asked else HeadItem.asked.does_not_exist()


def is_unpurged(now: int) -> Condition:
    """No process may be deleting it."""
    return either(HeadItem.purging.does_not_exist(), HeadItem.purging <= now)


def is_purged_until(moment: int) -> Condition:
    """One process may delete it until then."""
    return HeadItem.purging == moment if moment else HeadItem.purging.does_not_exist()


def is_due_at(moment: int) -> Condition:
    """Its due time is this."""
    return HeadItem.due == moment


def is_due_by(shard: str, since: int, until: int) -> Condition:
    """Key of the index: of this shard, and due from then to then."""
    return both(HeadItem.due_shard == shard, HeadItem.due.between(since, until))


def has_key(execution_id: str) -> Condition:
    """Key: every item of the execution."""
    return HeadItem.pk == execution_id


def has_value(value: bytes) -> Condition:
    """The item's value is this."""
    return ValueItem.value == value


def key_between(execution_id: str, first: str, last: str) -> Condition:
    """Key: items of the execution from one sort key to another."""
    return both(HeadItem.pk == execution_id, HeadItem.sk.between(first, last))


def key_begins(execution_id: str, prefix: str) -> Condition:
    """Key: items of the execution whose sort key begins so."""
    return both(HeadItem.pk == execution_id, HeadItem.sk.startswith(prefix))


def holds(where: Where) -> Condition:
    """All that is demanded, and that no newer code has written it."""
    return both(exists(), is_known(), *_demanded(where))


def changes(update: Update) -> list[Action]:
    """All that is written: what is empty is removed."""
    attributes = HeadItem.get_attributes()
    written = [
        attributes[name].remove() if is_absent(name, value) else attributes[name].set(value)
        for name, value in update.write.items()
    ]
    return [*written, *(attributes[name].add(amount) for name, amount in update.add.items())]


def _demanded(where: Where) -> Iterator[Condition]:
    if where.birth is not None:
        yield was_born(where.birth)
    if where.status is not None:
        yield in_status(where.status)
    if where.revision is not None:
        yield HeadItem.revision == where.revision
    if where.fence is not None:
        yield HeadItem.fence == where.fence
    if where.inbox is not None:
        yield HeadItem.inbox == where.inbox
    if where.asked is not None:
        yield was_asked(where.asked)
    if where.asleep is not None:
        yield sleeps_for_ever(where.asleep)
    if where.due is not None:
        yield is_due_at(where.due)
    if where.state is not None:
        yield has_state(*where.state)
    if where.free_at is not None:
        yield lease_is_over(where.free_at)
    if where.unparked_at is not None:
        yield may_wake(where.unparked_at)
    if where.unpurged_at is not None:
        yield is_unpurged(where.unpurged_at)
