"""Reads a DynamoDB stream on, as Lambda does."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from durable.testing.sources.stream import Record

_MOST_AT_ONCE = 1000  # records that one GetRecords gives


def _always() -> bool:
    return True


@dataclass(slots=True)
class StreamFeed:
    """Implements `durable.testing.sources.stream.Feed`."""

    stream: str  # ARN
    starting_position: str
    region: str
    client: Any  # of dynamodbstreams, for which there are no type stubs
    unrecorded: Callable[[], AbstractContextManager[None]] = nullcontext  # reading is Lambda's own business
    has_grown: Callable[[], bool] = _always  # whether anything may have come since this was last asked
    _iterators: list[str] | None = field(default=None, init=False)

    def __call__(self, wanted: Callable[[Record], bool]) -> list[Record]:
        """Of the records that have come since the last time, those that are wanted."""
        if not self.has_grown():
            return []
        with self.unrecorded():
            return [record for record in self._read() if _changes(record) and wanted(record)]

    def _read(self) -> list[Record]:
        found: list[Record] = []
        following = []
        for iterator in self._open() if self._iterators is None else self._iterators:
            position: str | None = iterator
            full = True
            while position is not None and full:
                answer = self.client.get_records(ShardIterator=position, Limit=_MOST_AT_ONCE)
                position, records = answer.get("NextShardIterator"), answer["Records"]
                full = len(records) == _MOST_AT_ONCE
                found.extend(map(self._record, records))
            if position is not None:
                following.append(position)
        self._iterators = following
        return found

    def _open(self) -> list[str]:
        description = self.client.describe_stream(StreamArn=self.stream)["StreamDescription"]
        return [
            self.client.get_shard_iterator(
                StreamArn=self.stream, ShardId=shard["ShardId"], ShardIteratorType=self.starting_position
            )["ShardIterator"]
            for shard in description["Shards"]
        ]

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
            "eventSourceARN": self.stream,
        }


def _changes(record: Record) -> bool:
    """A write that changes nothing leaves no record on AWS."""
    change = record["dynamodb"]
    return bool(change.get("OldImage") != change.get("NewImage"))


def _plain(value: Any) -> Any:
    """Binary values as Lambda has them: base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, set, tuple)):
        return [_plain(item) for item in value]
    return value
