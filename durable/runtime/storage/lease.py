"""The lease on a claimed execution: its head and history, and the only way in which an invocation writes to it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256

from msgspec import Raw, json
from msgspec.structs import replace

from durable.api.messages import Reply, Sent, message_key, reply_key
from durable.codec import MAX_VALUE
from durable.engine.entries import (
    CauseEntry,
    Entry,
    InputEntry,
    LoopEntry,
    OutputEntry,
    QueueEntry,
    RollbackEntry,
    StepEntry,
    elsewhere,
    memo_elsewhere,
    unpack,
)
from durable.engine.history import History
from durable.engine.interrupts import Fault, Interrupt, LeaseLost
from durable.errors import DurableError, StoreError
from durable.protocol import writes
from durable.protocol.checkpoint import Checkpoint
from durable.protocol.head import TERMINAL, Head, Status
from durable.protocol.updates import Blocked, Segment
from durable.protocol.writes import Plan
from durable.runtime.ports import Ports
from durable.runtime.storage.cache import SegmentCache, number_of
from durable.runtime.storage.layout import Layout, following
from durable.runtime.storage.sizes import STATE_LIMIT
from durable.runtime.storage.values import INLINE

logger = logging.getLogger("durable.runtime")

MARKS = 12  # queues of which the head says up to which message they were taken
LEFTOVERS = 25  # messages of a queue that are looked at together


class InboxChanged(Interrupt):
    """A message came while the execution was about to park: look again (protocol rule 5)."""


class WriteRefused(DurableError):
    """One of the body's own writes could not be: nothing was written, and the attempt has failed (S10)."""

    def __init__(self, index: int | None, reason: str) -> None:
        self.index = index
        self.reason = reason
        which = "a write" if index is None else f"write {index + 1}"
        super().__init__(f"{which} of step.transact was refused: {reason}")


class Lease:
    """A claimed execution: its head as last seen, its history, and checkpoints. Every method may raise LeaseLost or Fault."""

    def __init__(self, ports: Ports, cache: SegmentCache, head: Head) -> None:
        self.head = head
        self.values = ports.values
        self._ports = ports
        self._cache = cache
        self._layout = Layout(self._sealed(), unpack(head.tail), head.tail, head.segments)
        self._state: bytes | None = None if head.state_at else head.state
        sealed = [entry for segment in self._layout.chain for entry in unpack(segment.entries)]
        self.history = History([*sealed, *self._layout.tail])
        self._noted: list[Entry] = []
        self.pressing = False  # what is noted must be recorded before a body runs
        self._broken: Interrupt | None = None

    def note(self, entry: Entry, *, first: bool = False) -> None:
        """Record an entry with the next checkpoint, whatever that is for; `first`: with one before a body runs."""
        self._noted.append(entry)
        self.pressing = self.pressing or first
        self.history.record(entry)

    def stored_state(self) -> bytes:
        """The document as stored; empty before the first change."""
        if self._state is None:
            with machinery():
                self._state = self.values.kept(self.head.execution_id, self.head.state_at)
        return self._state

    def messages(self, queues: Sequence[str] | None, count: int) -> Sequence[Sent]:
        """The oldest messages that wait, and that no entry has taken."""
        arrived, taken = consumed(self.head, self._noted)
        if self.head.inbox <= arrived:
            return ()
        after = None if queues is None else {queue: taken.get(queue, 0) for queue in queues}
        with machinery():
            found = self._ports.store.waiting(self.head.execution_id, after, count)
        fresh = [message for message in found if message.number > taken.get(message.queue, 0)]
        return within_bounds(sorted(fresh, key=lambda message: message.number)[:count])

    def reply(self, message: Sent, response: bytes) -> None:
        """Leave the response where the sender of the message looks for it."""
        reply = Reply(Raw(response[1:]))
        with machinery():
            if len(response) > INLINE:
                key = self._fresh_key(f"payload#reply#{message.number}")
                reply = Reply(kept=self.values.keep(self.head.execution_id, key, response))
            self._ports.store.keep(self.head.execution_id, reply_key(message.id), json.encode(reply))

    def checkpoint(self, wanted: Checkpoint) -> Head:
        """Record, in one write, what happened and how the execution goes on; returns the head after it (rule 4).

        A verb that came in meanwhile stands: the entries are recorded under it. Raises InboxChanged when it would have
        parked and a message has come.
        """
        if self._broken is not None:  # after a fault nobody knows what was written: not even what is in the table now
            raise self._broken
        try:
            return self._checkpoint(wanted, self._ports.nonces())
        except (Fault, LeaseLost) as why:
            self._broken = why
            raise

    # --- below -----------------------------------------------------------------------------------------------------

    def _checkpoint(self, wanted: Checkpoint, nonce: str) -> Head:
        self._noted = [self._relieved(entry) for entry in self._noted]
        wanted = replace(wanted, entries=[self._relieved(entry) for entry in wanted.entries])
        while True:
            before = self.head
            recorded = self._recorded(wanted)
            count, taken = consumed(before, recorded)
            if len(taken) > MARKS:
                self._settle(taken, taken_of(before))
            state, state_at = self._placed(wanted.state)
            layout = following(self._layout, before, recorded, before.state if state is None else state)
            plan = Plan(
                status=wanted.status,
                keep=wanted.keep,
                tail=layout.packed,
                segment=layout.segment,
                segments=layout.segments,
                wake=wanted.wake,
                inbox=wanted.inbox,
                state=state,
                state_at=state_at,
                ran=wanted.ran,
                consumed=count,
                taken=json.encode(taken).decode() if taken else "",
                rollback_failed=self._rollback_failed(wanted),
            )
            with machinery():
                for segment in layout.sealed:
                    self._ports.store.seal(before.execution_id, segment)
                update = writes.checkpoint(before, plan, nonce, self._ports.clock.now())
                if wanted.writes or wanted.foreign:
                    answer = self._ports.store.together(update, wanted.writes, wanted.foreign)
                else:
                    answer = self._ports.store.update(update)
            if isinstance(answer, Blocked):
                refused = None if answer.index is None else answer.index - len(wanted.writes)
                raise WriteRefused(refused, answer.reason)
            seen = answer if isinstance(answer, Head) else answer.head
            if seen is None or seen.fence != before.fence:
                raise LeaseLost
            if seen.nonce == nonce:  # written now, or by an earlier try whose answer was lost
                self._applied(before, seen, layout, recorded, wanted.state)
                return seen
            if seen.terminal or (
                seen.status is not before.status and seen.status in (Status.FAILING, Status.ROLLING_BACK)
            ):
                raise LeaseLost
            self.head = seen
            if wanted.inbox is not None and seen.inbox != wanted.inbox:
                raise InboxChanged

    def _rollback_failed(self, wanted: Checkpoint) -> bool:
        """Whether the execution ends with this, and a rollback has failed for good."""
        if not wanted.rollback or wanted.status not in TERMINAL:
            return False
        rollbacks = [entry for entry in wanted.entries if isinstance(entry, RollbackEntry)]
        return any(entry.failure is not None for entry in (*self.history.rollbacks.values(), *rollbacks))

    def _recorded(self, wanted: Checkpoint) -> list[Entry]:
        """The entries that stand under the status as it is now."""
        status, _ = writes.settled_status(self.head, wanted.status)
        mark = [] if wanted.mark is None or status is not wanted.status else [wanted.mark]
        entries = [*self._noted, *wanted.entries, *mark]
        return [entry for entry in entries if stands(entry, self.head, wanted.status)]

    def _placed(self, state: bytes) -> tuple[bytes | None, str]:
        """Where a changed document goes: onto the head when it is small, else into an item of its own."""
        if not state:
            return None, ""
        if len(state) <= STATE_LIMIT:
            return state, ""
        with machinery():
            return b"", self.values.keep(self.head.execution_id, self._fresh_key("state"), state)

    def _relieved(self, entry: Entry) -> Entry:
        """The entry, with its value and its memo kept elsewhere when they are large (S13)."""
        if isinstance(entry, (InputEntry, StepEntry, LoopEntry, OutputEntry)) and len(entry.stored) > INLINE:
            entry = elsewhere(entry, self._kept("payload", entry, entry.stored))
        if isinstance(entry, LoopEntry) and len(entry.state) > INLINE:
            entry = memo_elsewhere(entry, self._kept("memo", entry, entry.state))
        return entry

    def _kept(self, prefix: str, entry: Entry, stored: bytes) -> str:
        name = sha256(f"{entry.kind}:{entry.path}".encode()).hexdigest()[:16]
        with machinery():
            return self.values.keep(self.head.execution_id, self._fresh_key(f"{prefix}#{name}"), stored)

    def _settle(self, taken: dict[str, int], recorded: Mapping[str, int]) -> None:
        """Delete the messages that a crash may have left of the queues that were served longest ago, and forget their marks.

        A mark keeps a message that was taken, and is still there, from being taken again; an execution may well use a new
        queue for each of its thousand questions.
        """
        old = [queue for queue, mark in recorded.items() if taken[queue] == mark]  # what is about to be taken must stay
        oldest = {queue: taken[queue] for queue in sorted(old, key=taken.__getitem__)[: -(MARKS // 2)]}
        execution_id = self.head.execution_id
        with machinery():
            while True:
                found = self._ports.store.waiting(execution_id, dict.fromkeys(oldest, 0), LEFTOVERS)
                left = [message.key for message in found if message.number <= oldest[message.queue]]
                if not left:
                    break
                self._ports.store.drop(execution_id, left)
        for queue in oldest:
            del taken[queue]

    def _fresh_key(self, prefix: str) -> str:
        """A key that was never used: what a checkpoint that fails has written stays unnamed, and is not overwritten."""
        return f"{prefix}#{self.head.fence}#{self.head.revision}#{self.head.created}"

    def fetch(self, reference: str) -> bytes:
        """Return a value that is stored elsewhere."""
        with machinery():
            return self.values.kept(self.head.execution_id, reference)

    def _applied(self, before: Head, head: Head, layout: Layout, recorded: Sequence[Entry], state: bytes) -> None:
        for entry in recorded:
            self.history.record(entry)
        self._noted, self.pressing = [], False
        if state:
            self._state = state
        if layout.chain is not self._layout.chain:
            self._cache.put(head.execution_id, list(layout.chain))
        self._layout = Layout(layout.chain, layout.tail, layout.packed, layout.segments)
        self.head = head
        unnamed = [segment.key for segment in layout.dropped]
        unnamed += [
            message_key(queue, number)
            for entry in recorded
            if isinstance(entry, QueueEntry)
            for queue, numbers in entry.took.items()
            for number in numbers
        ]
        values, self.history.forgotten = self.history.forgotten, []
        if before.state_at and before.state_at != head.state_at:
            values.append(before.state_at)
        if unnamed or values:
            self._drop(unnamed, values)

    def _drop(self, keys: Sequence[str], values: list[str]) -> None:
        """Delete items that no head names any more; what is left by a crash goes when the execution is purged."""
        try:
            if keys:
                self._ports.store.drop(self.head.execution_id, keys)
            if values:
                self.values.drop(self.head.execution_id, values)
        except StoreError as error:
            logger.warning("items that nothing names were left: %s", error, extra={"execution": self.head.execution_id})

    def _sealed(self) -> list[Segment]:
        """The whole chain, oldest first; what this process has kept is not read again."""
        head = self.head
        if not head.segment:
            return []
        kept = self._cache.chain(head.execution_id)
        keys = [segment.key for segment in kept]
        if head.segment in keys:  # the usual case; where another process has compacted the tail away, a part of it
            chain = kept[: keys.index(head.segment) + 1]
        else:
            with machinery():
                newer = list(self._ports.store.segments(head, number_of(keys[-1]) if keys else 0))
                previous = newer[0].previous if newer else ""
                if previous in keys:
                    chain = [*kept[: keys.index(previous) + 1], *newer]
                elif previous or not newer:  # what is kept is of an earlier execution of this id
                    chain = list(self._ports.store.segments(head, 0))
                else:
                    chain = newer
        self._cache.put(head.execution_id, chain)
        return chain


def within_bounds(messages: Sequence[Sent]) -> Sequence[Sent]:
    """As many of the messages, from the oldest, as one entry can hold; the rest goes on waiting."""
    size = 0
    for at, message in enumerate(messages):
        size += len(json.encode(message))  # with its id: of very many small ones that is the most of it
        if at and size > MAX_VALUE:
            return messages[:at]
    return messages


def consumed(head: Head, recorded: Sequence[Entry]) -> tuple[int, dict[str, int]]:
    """How many messages have been taken once these entries are recorded, and up to which number of each queue."""
    count, taken = head.consumed, taken_of(head)
    for entry in recorded:
        if isinstance(entry, QueueEntry):
            for queue, numbers in entry.took.items():
                count += len(numbers)
                taken[queue] = max(numbers)
    return count, taken


def taken_of(head: Head) -> dict[str, int]:
    """Up to which number the messages of each queue have been taken, as far as the head remembers."""
    return json.decode(head.taken, type=dict[str, int]) if head.taken else {}


def stands(entry: Entry, head: Head, wanted: Status) -> bool:
    """Whether an entry is recorded: an end is not, when a verb that came in has the execution end otherwise."""
    if not isinstance(entry, (OutputEntry, CauseEntry)):
        return True
    status, resume_to = writes.settled_status(head, wanted)
    if isinstance(entry, OutputEntry):
        return status is Status.COMPLETED
    return status in (*TERMINAL, Status.FAILING, Status.ROLLING_BACK) or resume_to == Status.FAILING


@contextmanager
def machinery() -> Iterator[None]:
    """Make a fault of the table or the queue one that user code can't catch (D9)."""
    try:
        yield
    except StoreError as error:
        raise Fault(error) from error
