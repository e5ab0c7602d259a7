"""A claimed execution: what one invocation knows of it, and the only way in which it writes to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from durable.engine.history import Entry, EntryKind, History, pack, unpack
from durable.engine.interrupts import Fault, Interrupt, LeaseLost
from durable.errors import StoreError
from durable.runtime import protocol
from durable.runtime.head import TERMINAL, Head, Status
from durable.runtime.memory import SegmentCache
from durable.runtime.ports import Clock, Nonces, Segment, Store
from durable.runtime.protocol import Plan
from durable.runtime.sizes import HEAD_LIMIT, STATE_LIMIT, head_size


class InboxChanged(Interrupt):
    """A message came while the execution was about to park: look again (protocol rule 5)."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an invocation wants to record, and how the execution is to go on if no verb has come in."""

    entries: Sequence[Entry]
    status: Status
    keep: bool = False  # keep the lease and go on
    wake: int = 0  # park until then
    inbox: int | None = None  # park only if this is still the inbox
    state: bytes = b""  # the changed document


class Claimed:
    """The head as last seen, the history, and checkpoints. Every method may leave by LeaseLost or Fault."""

    def __init__(self, store: Store, clock: Clock, nonces: Nonces, cache: SegmentCache, head: Head) -> None:
        self.head = head
        self._store = store
        self._clock = clock
        self._nonces = nonces
        self._cache = cache
        self._tail: list[Entry] = unpack(head.tail)
        self._state: bytes | None = None if head.state_at else head.state
        self.history = History([entry for segment in self._sealed() for entry in unpack(segment.entries)] + self._tail)

    @property
    def state(self) -> bytes:
        """The document as stored; empty before the first change."""
        if self._state is None:
            with machinery():
                self._state = self._store.kept(self.head.execution_id, self.head.state_at)
        return self._state

    def checkpoint(self, wanted: Wanted) -> Head:
        """Record, in one write, what happened and how the execution goes on; returns the head after it (rule 4).

        A verb that came in meanwhile stands: the entries are recorded under it. Raises InboxChanged when it would have
        parked and a message has come.
        """
        nonce = self._nonces()
        while True:
            plan, tail, sealed = self._plan(wanted)
            with machinery():
                if sealed is not None:
                    self._store.seal(self.head.execution_id, sealed)
                answer = self._store.update(protocol.checkpoint(self.head, plan, nonce, self._clock.now()))
            seen = answer if isinstance(answer, Head) else answer.head
            if seen is None or seen.fence != self.head.fence:
                raise LeaseLost
            if seen.nonce == nonce:  # written now, or by an earlier try whose answer was lost
                self._applied(seen, wanted, tail, sealed)
                return seen
            if seen.terminal:
                raise LeaseLost
            self.head = seen
            if wanted.inbox is not None and seen.inbox != wanted.inbox:
                raise InboxChanged

    # --- below -----------------------------------------------------------------------------------------------------

    def _plan(self, wanted: Wanted) -> tuple[Plan, list[Entry], Segment | None]:
        head = self.head
        recorded = [entry for entry in wanted.entries if stands(entry, head, wanted.status)]
        replaced = {(entry.kind, entry.path) for entry in recorded}
        tail = [entry for entry in self._tail if (entry.kind, entry.path) not in replaced] + recorded
        state, state_at = self._placed(wanted.state)
        packed = pack(tail)
        sealed = None
        segment, segments = head.segment, head.segments
        if head_size(replace(head, tail=packed, state=head.state if state is None else state)) > HEAD_LIMIT:
            segments += 1
            segment = f"history#{segments:06}#{head.fence}"  # a stale holder's key is another: it can't overwrite
            sealed = Segment(segment, head.segment, packed)
            tail, packed = [], b""
        plan = Plan(
            status=wanted.status,
            keep=wanted.keep,
            tail=packed,
            segment=segment,
            segments=segments,
            wake=wanted.wake,
            inbox=wanted.inbox,
            state=state,
            state_at=state_at,
        )
        return plan, tail, sealed

    def _placed(self, state: bytes) -> tuple[bytes | None, str]:
        """Where a changed document goes: onto the head when it is small, else into an item of its own."""
        if not state:
            return None, ""
        if len(state) <= STATE_LIMIT:
            return state, ""
        key = f"state#{self.head.fence}#{self.head.revision}"
        with machinery():
            self._store.keep(self.head.execution_id, key, state)
        return b"", key

    def _applied(self, head: Head, wanted: Wanted, tail: list[Entry], sealed: Segment | None) -> None:
        for entry in wanted.entries:
            if stands(entry, self.head, wanted.status):
                self.history.record(entry)
        if sealed is not None:
            self._cache.put(head.execution_id, [*self._cache.chain(head.execution_id), sealed])
        if wanted.state:
            self._state = wanted.state
        self._tail = tail
        self.head = head

    def _sealed(self) -> list[Segment]:
        """The whole chain, oldest first; what this process has kept is not read again."""
        head = self.head
        chain = self._cache.chain(head.execution_id)
        if len(chain) < head.segments:
            with machinery():
                newer = list(self._store.segments(head, len(chain)))
                if chain and newer[0].previous != chain[-1].key:  # an id that was used again
                    chain, newer = [], list(self._store.segments(head, 0))
            chain = [*chain, *newer]
        elif chain and (len(chain) > head.segments or chain[-1].key != head.segment):
            with machinery():
                chain = list(self._store.segments(head, 0))
        self._cache.put(head.execution_id, chain)
        return chain


def stands(entry: Entry, head: Head, wanted: Status) -> bool:
    """Whether an entry is recorded: an end is not, when a verb that came in has the execution end otherwise."""
    if entry.kind not in (EntryKind.OUTPUT, EntryKind.CAUSE):
        return True
    status, resume_to = protocol.settled_status(head, wanted)
    if entry.kind is EntryKind.OUTPUT:
        return status is Status.COMPLETED
    return status in (*TERMINAL, Status.FAILING, Status.ROLLING_BACK) or resume_to == Status.FAILING


@contextmanager
def machinery() -> Iterator[None]:
    """Make a fault of the table or the queue one that user code can't catch (D9)."""
    try:
        yield
    except StoreError as error:
        raise Fault(error) from error
