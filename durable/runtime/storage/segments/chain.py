"""Read the sealed segments of a claimed execution; what this process has kept is not read again."""

from __future__ import annotations

from durable.protocol import keys
from durable.protocol.head import Head
from durable.protocol.updates import Segment
from durable.runtime.ports import Store
from durable.runtime.storage.cache import SegmentCache


def sealed_chain(store: Store, cache: SegmentCache, head: Head) -> list[Segment]:
    """Return the segments that the head's chain reaches, oldest first; raises StoreError."""
    if not head.segment:
        return []
    kept = cache.chain(head.life)
    chain = _chain(store, head, kept, [segment.key for segment in kept])
    cache.put(head.life, chain)
    return chain


def _chain(store: Store, head: Head, kept: list[Segment], known: list[str]) -> list[Segment]:
    if head.segment in known:  # the usual case; where another process has compacted the chain, a part of it
        return kept[: known.index(head.segment) + 1]
    newer = list(store.segments(head, keys.segment_number(known[-1]) if known else 0))
    previous = newer[0].previous if newer else ""
    if previous in known:
        return [*kept[: known.index(previous) + 1], *newer]
    if previous or not newer:  # what is kept was compacted meanwhile
        return list(store.segments(head, 0))
    return newer
