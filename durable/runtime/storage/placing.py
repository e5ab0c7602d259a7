"""Where what a checkpoint records is kept, when it does not ride on the head: large values, documents, responses.

Every key is new: what a refused write has left is never overwritten, so whoever still reads it sees what it was. What no
head has come to name is deleted once it is known that none will.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from hashlib import sha256

from msgspec import Raw, json

from durable.api.messages import Reply, Sent
from durable.codec import formats
from durable.engine.entries import Entry, InputEntry, LoopEntry, OutputEntry, StepEntry, elsewhere, memo_elsewhere
from durable.errors import StoreError
from durable.protocol import keys
from durable.protocol.expiry import forgotten
from durable.protocol.head import Head
from durable.runtime.ports import Ports
from durable.runtime.storage.infrastructure import infrastructure
from durable.runtime.storage.sizes import STATE_LIMIT
from durable.runtime.storage.values import INLINE

logger = logging.getLogger("durable.runtime")


class Placing:
    """Writes the values of one lease, and remembers which of them no head names yet."""

    def __init__(self, ports: Ports, head: Head) -> None:
        self._ports = ports
        self._execution_id = head.execution_id
        self._birth = head.birth
        self._fence = head.fence
        self._writes = 0
        self._values: list[str] = []  # references that no head names yet
        self._segments: list[str] = []  # keys, likewise

    def entry(self, entry: Entry) -> Entry:
        """Return the entry, with its value and its memo kept elsewhere when they are large (S13)."""
        if isinstance(entry, (InputEntry, StepEntry, LoopEntry, OutputEntry)) and len(entry.stored) > INLINE:
            entry = elsewhere(entry, self._value(entry, entry.stored))
        if isinstance(entry, LoopEntry) and len(entry.state) > INLINE:
            entry = memo_elsewhere(entry, self._value(entry, entry.state))
        return entry

    def document(self, state: bytes) -> tuple[bytes | None, str]:
        """Return where a changed document goes: onto the head when it is small, else into an item of its own."""
        if not state:
            return None, ""
        if len(state) <= STATE_LIMIT:
            return state, ""
        return b"", self._keep(keys.state(self._birth, self._fresh()), state)

    def response(self, message: Sent, response: bytes) -> None:
        """Leave the response where the sender of the message looks for it; the first one stands."""
        reply = Reply(Raw(response[1:]), format=formats.FORMAT)
        expires = forgotten(self._ports.clock.now())
        with infrastructure():
            if len(response) > INLINE:
                key = keys.payload(self._birth, "reply", message.number, self._fresh())
                kept = self._ports.values.keep(self._execution_id, key, response, expires=expires)
                reply = Reply(kept=kept, format=formats.FORMAT)
            item = keys.reply(self._birth, message.id)
            stands = self._ports.store.keep(self._execution_id, item, json.encode(reply), new=True, expires=expires)
        if reply.kept and not stands:
            self.drop([], [reply.kept])

    def segment(self, number: int) -> str:
        """Return the key of a segment that is about to be sealed."""
        key = keys.segment(self._birth, number, self._fence, self._next())
        self._segments.append(key)
        return key

    def named(self, references: Iterable[str], segments: Iterable[str]) -> None:
        """Delete what was written so far, but for these, which a head names now."""
        named, sealed = set(references), set(segments)
        values = [reference for reference in self._values if reference not in named]
        left = [key for key in self._segments if key not in sealed]
        self._values, self._segments = [], []
        self.drop(left, values)

    def drop(self, items: list[str], values: list[str]) -> None:
        """Delete what no head names any more; what a crash leaves goes when the execution is purged."""
        try:
            if items:
                self._ports.store.drop(self._execution_id, items)
            if values:
                self._ports.values.drop(self._execution_id, values)
        except StoreError as error:
            logger.warning("items that nothing names were left: %s", error, extra={"execution": self._execution_id})

    def _value(self, entry: Entry, stored: bytes) -> str:
        name = sha256(f"{entry.kind}:{entry.path}".encode()).hexdigest()[:16]
        return self._keep(keys.payload(self._birth, name, self._fresh()), stored)

    def _keep(self, key: str, stored: bytes) -> str:
        with infrastructure():
            reference = self._ports.values.keep(self._execution_id, key, stored)
        self._values.append(reference)
        return reference

    def _fresh(self) -> str:
        return f"{self._fence}.{self._next()}"

    def _next(self) -> int:
        self._writes += 1
        return self._writes
