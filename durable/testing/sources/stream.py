"""Lambda's DynamoDB stream mapping: filters, batches, retries and bisects, and never goes past a record it has not done."""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from durable.runtime.ports import Clock
from durable.testing.aws.patterns import matches
from durable.testing.invocations import Invocation
from durable.testing.sources.source import ALL, Invoke, failed_items
from durable.testing.template.definitions import StreamSource

_MOST_AT_ONCE = 1000  # records that one GetRecords gives
_BACKOFF = 1000  # milliseconds before a batch is tried again


@dataclass(slots=True)
class _Work:
    """Records that are delivered together, and the retries they have had."""

    records: Sequence[Mapping[str, Any]]
    retries: int = 0
    not_before: int = 0


@dataclass(slots=True)
class StreamReader:
    """Reads one stream for one function."""

    source: StreamSource
    region: str
    streams: Any  # the dynamodbstreams client, for which there are no type stubs
    clock: Clock
    invoke: Invoke
    unrecorded: Callable[[], AbstractContextManager[None]]  # reading is Lambda's own business
    written: bool = True  # whether the stream may hold something that was not read
    discarded: list[Mapping[str, Any]] = field(default_factory=list)  # what was given up after its retries
    _work: deque[_Work] = field(default_factory=deque)
    _iterators: list[str] | None = None

    def deliver(self) -> Invocation | None:
        """Delivers the next batch that is due, in order; None when there is none."""
        if not self._work and self.written:
            self.written = False
            with self.unrecorded():
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
        wanted: list[Mapping[str, Any]] = []
        following = []
        for iterator in self._open() if self._iterators is None else self._iterators:
            position: str | None = iterator
            full = True
            while position is not None and full:
                answer = self.streams.get_records(ShardIterator=position, Limit=_MOST_AT_ONCE)
                position, records = answer.get("NextShardIterator"), answer["Records"]
                full = len(records) == _MOST_AT_ONCE
                wanted.extend(record for record in map(self._record, records) if self._wanted(record))
            if position is not None:
                following.append(position)
        self._iterators = following
        size = self.source.batch_size
        self._work.extend(_Work(wanted[start : start + size]) for start in range(0, len(wanted), size))

    def _open(self) -> list[str]:
        description = self.streams.describe_stream(StreamArn=self.source.stream)["StreamDescription"]
        return [
            self.streams.get_shard_iterator(
                StreamArn=self.source.stream,
                ShardId=shard["ShardId"],
                ShardIteratorType=self.source.starting_position,
            )["ShardIterator"]
            for shard in description["Shards"]
        ]

    def _wanted(self, record: Mapping[str, Any]) -> bool:
        change = record["dynamodb"]
        if change.get("OldImage") == change.get("NewImage"):  # a write that changes nothing leaves no record on AWS
            return False
        return not self.source.filters or any(matches(pattern, record) for pattern in self.source.filters)

    def _record(self, record: Mapping[str, Any]) -> dict[str, Any]:
        change = dict(record["dynamodb"])
        change["ApproximateCreationDateTime"] = change["ApproximateCreationDateTime"].timestamp()
        return {
            "eventID": record["eventID"],
            "eventName": record["eventName"],
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": self.region,
            "dynamodb": _plain(change),
            "eventSourceARN": self.source.stream,
        }


def _plain(value: Any) -> Any:
    """Binary values as Lambda has them: base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, set, tuple)):
        return [_plain(item) for item in value]
    return value
