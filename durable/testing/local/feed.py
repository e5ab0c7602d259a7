"""The local stream's changes as records of a DynamoDB stream."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from durable.local.stream import Change, Changes
from durable.protocol.head import Head
from durable.protocol.keys import HEAD
from durable.runtime.ports import Clock
from durable.testing.sources.stream import Record
from durable.testing.template.stack import REGION

_ATTRIBUTES = Head.__struct_fields__[1:]  # the first is the execution's id, which is the key


@dataclass(slots=True)
class LocalFeed:
    """Implements `durable.testing.sources.stream.Feed`: the stream shows the changes of a status, and no other write."""

    changes: Changes
    stream: str  # ARN
    clock: Clock
    _seen: int = 0

    def __call__(self, wanted: Callable[[Record], bool]) -> list[Record]:
        """Of the records that have come since the last time, those that are wanted."""
        found = self.changes.after(self._seen)
        if found:
            self._seen = found[-1].number
        return [_whole(record) for record in map(self._record, found) if wanted(record)]

    def _record(self, change: Change) -> Record:
        images: dict[str, Any] = {"NewImage": Image(change.after)}
        if change.before is not None:
            images["OldImage"] = Image(change.before)
        return {
            "eventID": f"{change.number:032x}",
            "eventName": "INSERT" if change.before is None else "MODIFY",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": REGION,
            "dynamodb": {
                "ApproximateCreationDateTime": self.clock.now() / 1000,
                "Keys": {"pk": {"S": change.after.execution_id}, "sk": {"S": HEAD}},
                **images,
                "SequenceNumber": f"{change.number:021}",
                "SizeBytes": 0,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "eventSourceARN": self.stream,
        }


class Image(Mapping[str, Any]):
    """The item of a head, as a stream's record has it. Filters look at few of its attributes: each is made when asked for."""

    __slots__ = ("_head",)

    def __init__(self, head: Head) -> None:
        self._head = head

    def __getitem__(self, name: str) -> Mapping[str, str]:
        if name == "pk":
            return {"S": self._head.execution_id}
        if name == "sk":
            return {"S": HEAD}
        value = getattr(self._head, name, None) if name in _ATTRIBUTES else None
        if isinstance(value, int):
            return {"N": str(value)}
        if not value:  # what is empty is not there
            raise KeyError(name)
        return {"B": base64.b64encode(value).decode()} if isinstance(value, bytes) else {"S": str(value)}

    def __iter__(self) -> Iterator[str]:
        return iter(["pk", "sk", *(name for name in _ATTRIBUTES if name in self)])

    def __len__(self) -> int:
        return len(list(iter(self)))


def _whole(record: Record) -> Record:
    """The record with whole images."""
    change = {name: dict(part) if isinstance(part, Image) else part for name, part in record["dynamodb"].items()}
    return {**record, "dynamodb": change}
