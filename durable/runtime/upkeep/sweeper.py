"""The sweeper: finds what is due and has nobody to bring it back (protocol rule 12), and purges what has expired (E9).

It is driven by the due index alone. With the protocol's rules only a client's death between its write and its message needs
it; it also covers lost messages, outages of the stream, and messages held past the queue's retention.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from durable.errors import StoreError
from durable.protocol import writes
from durable.protocol.expiry import expired
from durable.protocol.head import AT_REST, SHARDS, Head
from durable.runtime import followups
from durable.runtime.events import Incident, IncidentKind
from durable.runtime.ports import Ports
from durable.runtime.storage.purge import purge

logger = logging.getLogger("durable.runtime")

PAGE = 100
MARGIN = 5.0  # seconds of the invocation that are left alone


class Sweeper:
    """Looks through the due index, shard by shard."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def sweep(self, remaining: Callable[[], float]) -> int:
        """How many executions were brought back or purged; one that can't be reached does not hold up the others."""
        dealt_with = 0
        for shard in range(SHARDS):
            for execution_id, due in self._due(str(shard)):
                if remaining() < MARGIN:
                    return dealt_with
                try:
                    dealt_with += self._deal_with(execution_id, due)
                except StoreError as error:
                    logger.warning("not swept: %s", error, extra={"execution": execution_id})
        return dealt_with

    def _due(self, shard: str) -> Iterator[tuple[str, int]]:
        """Everything of a shard that is due, page by page, each execution once."""
        looked_at: set[str] = set()
        since, until = 0, self._ports.clock.now()
        while True:
            page = self._ports.store.due(shard, since, until, PAGE)
            fresh = [(execution_id, due) for execution_id, due in page if execution_id not in looked_at]
            yield from fresh
            looked_at.update(execution_id for execution_id, _ in fresh)
            if len(page) < PAGE:
                return
            # On from the last one's moment: what can't be moved (leased, at rest) must not hide what is behind it.
            since = page[-1][1] if fresh else page[-1][1] + 1

    def _deal_with(self, execution_id: str, due: int) -> bool:
        head = self._ports.store.read(execution_id)
        now = self._ports.clock.now()
        if head is None or head.due != due or due > now:
            return False  # the index lags behind
        if head.terminal:
            return expired(head, now) and purge(self._ports, head, now)
        if head.held(now) or head.status in AT_REST:
            return False
        answer = self._ports.store.update(writes.sweep(head, due, now))
        if not isinstance(answer, Head):
            return False
        followups.send_again(self._ports.queue, answer, now)
        self._ports.observer.observe(Incident(IncidentKind.SWEPT, execution_id, head.workflow))
        return True
