"""Where the history of a claimed execution is stored: the newest entries in the tail on its head, older ones in segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from durable.engine.entries import Entry, pack
from durable.protocol.head import Head
from durable.protocol.updates import Segment
from durable.runtime.storage.segments.compaction import compact, forgets, portions
from durable.runtime.storage.sizes import HEAD_LIMIT, head_size


class Layout(Struct, frozen=True):
    """The chain of sealed segments, oldest first, and the entries of the tail."""

    chain: Sequence[Segment]
    tail: Sequence[Entry]
    packed: bytes  # the tail, as stored
    segments: int  # how many segments were ever sealed: the next one's number follows
    sealed: Sequence[Segment] = ()  # to be written before a head names the last
    dropped: Sequence[Segment] = ()  # to be deleted once no head names them

    @property
    def segment(self) -> str:
        """The key of the last segment; empty when there is none."""
        return self.chain[-1].key if self.chain else ""


def following(now: Layout, head: Head, recorded: Sequence[Entry], state: bytes, key_of: Callable[[int], str]) -> Layout:
    """The layout once these entries are recorded; `state` is the document that will ride on the head.

    `key_of` makes a new key for the segment of a number.

    The tail is sealed when the head would grow past its limit. A loop that forgets iterations has its segments compacted.
    """
    replaced = {(entry.kind, entry.path) for entry in recorded}
    tail = [*(entry for entry in now.tail if (entry.kind, entry.path) not in replaced), *recorded]
    chain: Sequence[Segment] = now.chain
    dropped: Sequence[Segment] = ()
    if forgets(recorded):
        compacted = compact(chain, tail)
        chain, dropped, tail = compacted.intact, compacted.dropped, list(compacted.live)
    packed = pack(tail)
    if head_size(replace(head, tail=packed, state=state)) <= HEAD_LIMIT:
        return Layout(chain, tail, packed, now.segments, dropped=dropped)
    sealed: list[Segment] = []
    for portion in portions(tail):
        key = key_of(now.segments + len(sealed) + 1)
        before = sealed[-1].key if sealed else chain[-1].key if chain else ""
        sealed.append(Segment(key, before, pack(portion)))
    return Layout([*chain, *sealed], [], b"", now.segments + len(sealed), sealed, dropped)
