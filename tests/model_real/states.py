"""What tells two states of rest apart, so that each is gone on from once."""

from __future__ import annotations

from msgspec import Raw
from msgspec.structs import asdict

from durable.local.messages import Message
from durable.protocol.continuation import read
from durable.protocol.head import Head
from durable.usercode.durations import FOREVER
from tests.model_real.truth import history_of
from tests.model_real.world import ID, World


def _age(message: Message, head: Head) -> int:
    """Return whether a message is older than the head, current, or newer: by how much does not matter."""
    revision = read(message.body).revision
    return (revision > head.revision) - (revision < head.revision)


def _plain(value: object) -> object:
    """Return something that is equal where the value is."""
    return bytes(value) if isinstance(value, Raw) else repr(value)


OF_NO_INTEREST = frozenset({"started", "ended", "first_clock", "messages", "fingerprint"})


def canonical(world: World) -> object:
    """What tells two states of rest apart: no counter, and of moments only which comes before which."""
    head, now = world.head, world.time.now
    history = list(history_of(world.store, head))
    waiting = world.messages.waiting()
    schedules = world.schedules.pending()
    moments = {head.lease, head.wake, head.due, head.claimed, head.deadline}
    moments |= {getattr(entry, "until", 0) for entry in history}
    moments |= {message.visible for message in waiting} | {each.moment for each in schedules}
    later = sorted(moment for moment in moments if now < moment < FOREVER)
    before = sorted(moment for moment in moments if 0 < moment <= now)

    def when(moment: int) -> int:
        """Return its rank: above zero are those to come, below zero those that have passed."""
        if moment in (0, FOREVER):
            return moment
        return later.index(moment) + 1 if moment > now else before.index(moment) - len(before)

    def passed(moment: int) -> int:
        return max(0, when(moment))

    entries = tuple(
        (
            str(entry.kind),
            *(
                when(value) if name == "until" else _plain(value)
                for name, value in asdict(entry).items()
                if name not in OF_NO_INTEREST
            ),
        )
        for entry in history
    )
    messages = sorted(
        (
            message.queue,
            _age(message, head),
            read(message.body).phase,
            passed(message.visible),
            head.message == message.id,
            message.received if world.case.receives else 0,
            message.copy > 0,
        )
        for message in waiting
    )
    stands = (head.status, head.resume_to, head.claims, head.undoing, head.dead, head.skip_rollback, head.rollback)
    waits = (passed(head.lease), passed(head.wake), passed(head.due), when(head.claimed), passed(head.deadline))
    inbox = (head.inbox, head.seen, head.consumed, head.taken, head.state)
    change = world.unrelayed()
    told = None if change is None else (change.after.status, change.after.revision - head.revision)
    items = tuple(sorted(key for key in world.store.sizes(ID) if key.startswith(("message#", "reply#", "sent#"))))
    timers = tuple(sorted((passed(each.moment), each.queue) for each in schedules))
    return (entries, tuple(messages), timers, stands, waits, inbox, told, items, world.truth.key, world.left)
