"""Lambda's DynamoDB stream mapping: filters, batches, retries and bisects, and never goes past a record it has not done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from durable.runtime.ports import Clock
from durable.testing.aws.patterns import matches
from durable.testing.invocations import Invocation
from durable.testing.sources.source import ALL, Invoke, failed_items
from durable.testing.template.definitions import StreamSource

_BACKOFF = 1000  # milliseconds before a batch is tried again


Record = Mapping[str, Any]
"""A record of a stream, as Lambda has it."""

Feed = Callable[[Callable[[Record], bool]], Sequence[Record]]
"""Reads a stream on: of the records that have come since the last time, those that are wanted."""


@dataclass(slots=True)
class _Work:
    """Records that are delivered together, and the retries they have had."""

    records: Sequence[Record]
    retries: int = 0
    not_before: int = 0


@dataclass(slots=True)
class StreamReader:
    """Reads one stream for one function."""

    source: StreamSource
    feed: Feed
    clock: Clock
    invoke: Invoke
    discarded: list[Record] = field(default_factory=list)  # what was given up after its retries
    _work: deque[_Work] = field(default_factory=deque)

    def deliver(self) -> Invocation | None:
        """Delivers the next batch that is due, in order; None when there is none."""
        if not self._work:
            self._read()
        if not self._work or self._work[0].not_before > self.clock.now():
            return None
        work = self._work.popleft()
        invocation = self.invoke(self.source.function, {"Records": work.records})
        self._settle(work, invocation)
        return invocation

    def next(self) -> int | None:
        """When the next batch is due."""
        return self._work[0].not_before if self._work else None

    def _settle(self, work: _Work, invocation: Invocation) -> None:
        identifiers = [record["dynamodb"]["SequenceNumber"] for record in work.records]
        failed = failed_items(invocation, dict.fromkeys(identifiers), partial=self.source.partial_failures)
        if failed is ALL:
            self._again(work, bisected=self.source.bisect and len(work.records) > 1)
        elif failed:  # the checkpoint is the first that failed: it and all after it are delivered again
            first = min(identifiers.index(identifier) for identifier in failed)
            self._again(_Work(work.records[first:], 0 if first else work.retries), bisected=False)

    def _again(self, work: _Work, *, bisected: bool) -> None:
        if bisected:  # which uses up no retry
            middle = len(work.records) // 2
            self._work.extendleft(
                [_Work(work.records[middle:], work.retries), _Work(work.records[:middle], work.retries)]
            )
        elif self.source.maximum_retries is not None and work.retries >= self.source.maximum_retries:
            self.discarded.extend(work.records)
        else:
            self._work.appendleft(_Work(work.records, work.retries + 1, self.clock.now() + _BACKOFF))

    def _read(self) -> None:
        wanted = self.feed(self._wanted)
        size = self.source.batch_size
        self._work.extend(_Work(wanted[start : start + size]) for start in range(0, len(wanted), size))

    def _wanted(self, record: Record) -> bool:
        return not self.source.filters or any(matches(pattern, record) for pattern in self.source.filters)
