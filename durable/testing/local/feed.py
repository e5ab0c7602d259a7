"""The local stream's changes as records of a DynamoDB stream."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from durable.local.stream import Change, Changes
from durable.protocol.head import Head
from durable.runtime.ports import Clock
from durable.testing.template.stack import REGION

_ATTRIBUTES = Head.__struct_fields__[1:]  # the first is the execution's id, which is the key


@dataclass(slots=True)
class LocalFeed:
    """Implements `durable.testing.sources.stream.Feed`: the stream shows the changes of a status, and no other write."""

    changes: Changes
    stream: str  # ARN
    clock: Clock
    _seen: int = 0

    def __call__(self) -> list[Mapping[str, Any]]:
        """The records that have come since the last time."""
        found = self.changes.after(self._seen)
        if found:
            self._seen = found[-1].number
        return [self._record(change) for change in found]

    def _record(self, change: Change) -> Mapping[str, Any]:
        images: dict[str, Any] = {"NewImage": image(change.after)}
        if change.before is not None:
            images["OldImage"] = image(change.before)
        keys = {name: images["NewImage"][name] for name in ("pk", "sk")}
        return {
            "eventID": f"{change.number:032x}",
            "eventName": "INSERT" if change.before is None else "MODIFY",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": REGION,
            "dynamodb": {
                "ApproximateCreationDateTime": self.clock.now() / 1000,
                "Keys": keys,
                **images,
                "SequenceNumber": f"{change.number:021}",
                "SizeBytes": 0,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "eventSourceARN": self.stream,
        }


def image(head: Head) -> dict[str, Any]:
    """The item of a head, as a stream's record has it: what is empty is not there."""
    item: dict[str, Any] = {"pk": {"S": head.execution_id}, "sk": {"S": "head"}}
    for name, value in zip(_ATTRIBUTES, structs.astuple(head)[1:], strict=True):
        if type(value) is int:
            item[name] = {"N": str(value)}
        elif value:
            item[name] = {"B": base64.b64encode(value).decode()} if type(value) is bytes else {"S": str(value)}
    return item
