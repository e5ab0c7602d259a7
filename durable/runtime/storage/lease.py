"""The lease on a claimed execution: its head and history, and the only way in which an invocation writes to it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from durable.api.messages import Sent
from durable.engine.entries import Entry, unpack
from durable.engine.history import History
from durable.engine.interrupts import Fault, Interrupt, LeaseLost
from durable.protocol import writes
from durable.protocol.checkpoint import Checkpoint, Continue, GiveBack
from durable.protocol.head import Head, Status
from durable.protocol.updates import Blocked, Refused, Update
from durable.protocol.writes import Stored
from durable.runtime.ports import Ports
from durable.runtime.storage import inbox
from durable.runtime.storage.cache import SegmentCache
from durable.runtime.storage.giving_back import give_back
from durable.runtime.storage.infrastructure import infrastructure
from durable.runtime.storage.placing import Placing
from durable.runtime.storage.recorded import recorded, rollback_failed, unmarked
from durable.runtime.storage.refusals import InboxChanged, WriteRefused
from durable.runtime.storage.segments.chain import sealed_chain
from durable.runtime.storage.segments.layout import Layout, following

Document = tuple[bytes | None, str]  # as it goes onto the head (None: it stays), and the reference of a large one


class Prepared(Struct, frozen=True):
    """A checkpoint that is ready to be written on the head as it was last seen."""

    before: Head
    update: Update
    entries: Sequence[Entry]  # what it records
    layout: Layout
    document: Document

    @property
    def status(self) -> Status:
        """The status that it writes."""
        return self.update.write["status"]


class Lease:
    """A claimed execution: its head as last seen, its history, and checkpoints. Every method may raise LeaseLost or Fault."""

    def __init__(self, ports: Ports, cache: SegmentCache, head: Head) -> None:
        self.head = head
        self.values = ports.values
        self.pressing = False  # what is noted must be recorded before a body runs
        self._ports = ports
        self._cache = cache
        self._placing = Placing(ports, head)
        with infrastructure():
            chain = sealed_chain(ports.store, cache, head)
        self._layout = Layout(chain, unpack(head.tail), head.tail, head.segments)
        sealed = [entry for segment in self._layout.chain for entry in unpack(segment.entries)]
        self.history = History([*sealed, *self._layout.tail])
        self._state: bytes | None = None  # the document, once it was read
        self._noted: list[Entry] = []
        self._broken: Interrupt | None = None

    def note(self, entry: Entry, *, first: bool = False) -> None:
        """Record an entry with the next checkpoint, whatever that is for; `first`: with one before a body runs."""
        self._noted.append(entry)
        self.pressing = self.pressing or first
        self.history.record(entry)

    def stored_state(self) -> bytes:
        """Return the document as stored; empty before the first change."""
        if self._state is None:
            self._state = self.fetch(self.head.state_at) if self.head.state_at else self.head.state
        return self._state

    def fetch(self, reference: str) -> bytes:
        """Return a value that is stored elsewhere."""
        with infrastructure():
            return self._ports.values.kept(self.head.execution_id, reference)

    def messages(self, queues: Sequence[str] | None, count: int) -> Sequence[Sent]:
        """Return the oldest messages that wait, and that no entry has taken."""
        with infrastructure():
            return inbox.waiting(self._ports.store, self.head, self._noted, queues, count)

    def reply(self, message: Sent, response: bytes) -> None:
        """Let the sender of a message have the response; the first one stands.

        It is recorded before that the message was taken: who has lost the lease must not answer what another takes.
        """
        if any(inbox.took(entry, message) for entry in self._noted):
            head = self.checkpoint(Checkpoint((), Continue()))
            if head.status is not Status.RUNNING:  # a command has taken the lease back
                raise LeaseLost
        self._placing.response(message, response)

    def checkpoint(self, wanted: Checkpoint) -> Head:
        """Record, in one write, what happened and how the execution goes on; returns the head after it (rule 4).

        A command that came in meanwhile stands: the entries are recorded under it, and the lease is given back. Raises
        InboxChanged when the execution would have parked and a message has come, and WriteRefused.
        """
        if self._broken is not None:  # after a fault nobody knows what was written: not even what is in the table now
            raise self._broken
        try:
            if self.head.terminal or not self.head.lease:
                raise LeaseLost  # it was given back
            return self._checkpoint(wanted)
        except Fault as why:
            self._broken = why
            raise
        except LeaseLost as why:
            self._broken = why
            self._placing.named((), ())
            raise

    def release(self) -> None:
        """Give the lease back with nothing recorded: what this claim began stays unaccounted for."""
        with infrastructure():
            self.head = give_back(self._ports, self.head)

    # --- below -----------------------------------------------------------------------------------------------------

    def _checkpoint(self, wanted: Checkpoint) -> Head:
        self._noted = [self._placing.entry(entry) for entry in self._noted]
        wanted = replace(wanted, entries=[self._placing.entry(entry) for entry in wanted.entries])
        document = self._placing.document(wanted.state)
        nonce = self._ports.nonces()
        while True:
            prepared = self._prepared(wanted, document, nonce)
            seen = self._written(prepared, wanted)
            if seen is None or not self._is_mine(seen):
                raise LeaseLost
            if seen.nonce == nonce:  # written now, or by an earlier try whose answer was lost
                mark = unmarked(self.history, wanted, prepared.entries)
                self._applied(prepared, seen, wanted.state)
                return self._obeyed(wanted, prepared, seen, mark)
            self._look_again(wanted, seen)

    def _prepared(self, wanted: Checkpoint, document: Document, nonce: str) -> Prepared:
        """Seal what must be sealed, and make the write for the head as it was last seen."""
        head, (state, state_at) = self.head, document
        entries = recorded(head, self._noted, wanted)
        with infrastructure():
            count, taken = inbox.consumed(head, entries)
            taken = inbox.fewer_marks(self._ports.store, head, taken)
            kept = head.state if state is None else state
            layout = following(self._layout, head, entries, kept, self._placing.segment)
            for segment in layout.sealed:
                self._ports.store.seal(head.execution_id, segment)
        stored = Stored(layout.packed, layout.segment, layout.segments, state, state_at, count, inbox.packed(taken))
        failed = rollback_failed(self.history, wanted)
        update = writes.checkpoint(head, wanted, stored, nonce, self._ports.clock.now(), rollback_failed=failed)
        return Prepared(head, update, entries, layout, document)

    def _written(self, prepared: Prepared, wanted: Checkpoint) -> Head | None:
        """Write, and return the head as it then is; raises WriteRefused."""
        with infrastructure():
            if wanted.writes or wanted.foreign:
                answer = self._ports.store.together(prepared.update, wanted.writes, wanted.foreign)
            else:
                answer = self._ports.store.update(prepared.update)
        match answer:
            case Blocked(index=index, reason=reason, invalid=invalid):
                raise WriteRefused(None if index is None else index - len(wanted.writes), reason, invalid=invalid)
            case Refused(head=head):
                return head
            case Head():
                return answer

    def _look_again(self, wanted: Checkpoint, seen: Head) -> None:
        """Take in the head on which the write was refused; raises LeaseLost and InboxChanged."""
        before, self.head = self.head, seen
        if seen.terminal or (seen.status is not before.status and seen.status in (Status.FAILING, Status.ROLLING_BACK)):
            raise LeaseLost
        if (seen.state, seen.state_at) != (before.state, before.state_at):
            self._state = None
            if wanted.state:  # an action has changed the document since the body read it: the body must run again
                self.release()
                raise LeaseLost
        if wanted.inbox is not None and seen.inbox != wanted.inbox:
            raise InboxChanged

    def _obeyed(self, wanted: Checkpoint, prepared: Prepared, seen: Head, mark: Sequence[Entry]) -> Head:
        """Do what a command asks that came in after the write, and before its answer or that of its repetition.

        No body runs for this invocation any more, so the start of the one that was about to is not recorded.
        """
        if seen.status is prepared.status:
            return seen
        if seen.terminal:
            raise LeaseLost
        if not seen.lease:
            return seen
        return self._checkpoint(Checkpoint(mark, GiveBack(), rollback=wanted.rollback))

    def _applied(self, prepared: Prepared, head: Head, state: bytes) -> None:
        """Take in what was written, and delete what no head names any more."""
        before, layout = prepared.before, prepared.layout
        for entry in prepared.entries:
            self.history.record(entry)
        references = [reference for entry in prepared.entries for reference in entry.references]
        self._noted, self.pressing = [], False
        if state and (head.state, head.state_at) == prepared.document:
            self._state = state
        elif (head.state, head.state_at) != (before.state, before.state_at):  # by an action, since
            self._state = None
        if layout.chain is not self._layout.chain:
            self._cache.put(head.life, list(layout.chain))
        self._layout = Layout(layout.chain, layout.tail, layout.packed, layout.segments)
        self.head = head
        unnamed = [segment.key for segment in layout.dropped]
        unnamed += inbox.taken_keys(prepared.entries)
        values, self.history.forgotten = self.history.forgotten, []
        if before.state_at and before.state_at != head.state_at:
            values.append(before.state_at)
        self._placing.drop(unnamed, values)
        self._placing.named([*references, head.state_at], [segment.key for segment in layout.sealed])

    def _is_mine(self, seen: Head) -> bool:
        return seen.birth == self.head.birth and seen.fence == self.head.fence
