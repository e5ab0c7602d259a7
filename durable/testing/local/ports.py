"""The other local ports, whose calls are recorded as the AWS calls that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from durable.local.blobs import SqliteBlobs
from durable.local.publisher import SqlitePublisher
from durable.local.queue import MAX_DELAY, SqliteQueue
from durable.protocol import receipts
from durable.protocol.continuation import DETAIL_TYPE, SOURCE, Continuation, name_of
from durable.testing.local.attempts import Attempts, PortCall


@dataclass(frozen=True, slots=True)
class RecordedQueue:
    """Implements `durable.runtime.ports.Queue` as the deployment's environment has it."""

    queue: SqliteQueue
    attempts: Attempts
    url: str
    schedules: str  # the name of their group; empty: what waits long is delivered early
    publish: Callable[[str, str, str], object] | None  # where a bus carries what is not delayed
    bus: str

    def send(self, continuation: Continuation, delay: float = 0) -> None:
        """Deliver it after `delay` seconds."""
        execution = continuation.execution
        if delay > MAX_DELAY and self.schedules:
            doing = f"schedule a continuation of execution '{execution}'"
            was = self.queue.is_scheduled(continuation)
            call = self._of_schedule("CreateSchedule", continuation, doing, "ConflictException" if was else None)
            self.attempts.once(call, lambda: self.queue.send(continuation, delay))
        elif delay <= 0 and self.publish is not None:
            body, publish = continuation.encode(), self.publish
            doing = f"publish a continuation of execution '{execution}'"
            call = _put_events(self.bus, SOURCE, DETAIL_TYPE, body, doing)
            self.attempts.once(call, lambda: (publish(SOURCE, DETAIL_TYPE, body), None)[1])
        else:
            body = continuation.encode()
            call = PortCall(
                "sqs",
                "SendMessage",
                f"send a continuation of execution '{execution}'",
                lambda: {"QueueUrl": self.url, "MessageBody": body, "DelaySeconds": min(delay, MAX_DELAY)},
            )
            self.attempts.once(call, lambda: self.queue.send(continuation, min(delay, MAX_DELAY)))

    def forget(self, continuation: Continuation) -> None:
        """Take back what was sent to come in more than 15 minutes; nothing happens if it has come, or never was."""
        if self.schedules:
            doing = f"delete the schedule of execution '{continuation.execution}'"
            was = self.queue.is_scheduled(continuation)
            call = self._of_schedule(
                "DeleteSchedule", continuation, doing, None if was else "ResourceNotFoundException"
            )
            self.attempts.once(call, lambda: self.queue.forget(continuation))

    def _of_schedule(self, operation: str, continuation: Continuation, doing: str, error: str | None) -> PortCall:
        """A call about the schedule of a continuation; `error` is what AWS answers to it, and the adapter takes for done."""
        given = {"GroupName": self.schedules, "Name": name_of(continuation)}
        return PortCall("scheduler", operation, doing, lambda: given, refusal=lambda result: error)

    def hold(self, receipt: str, seconds: float) -> None:
        """Keep a delivered message invisible for that long; it is then delivered again."""
        name, handle = receipts.split(receipt)
        url = f"{self.url.rpartition('/')[0]}/{name}" if name else self.url
        given = {"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": seconds}
        call = PortCall("sqs", "ChangeMessageVisibility", "hold a message", lambda: given)
        self.attempts.once(call, lambda: self.queue.hold(receipt, seconds))

    def reject(self, body: str, reason: str) -> None:
        """Put a message that no code can handle where a person finds it, with the reason."""
        call = PortCall("sqs", "SendMessage", "reject a message", lambda: {"MessageBody": body})
        self.attempts.once(call, lambda: self.queue.reject(body, reason))


@dataclass(frozen=True, slots=True)
class RecordedBlobs:
    """Implements `durable.runtime.ports.Blobs`."""

    blobs: SqliteBlobs
    attempts: Attempts

    def put(self, key: str, value: bytes) -> None:
        """Write an object; every later `get` returns it."""
        self.attempts.make(self._call("PutObject", f"store '{key}' in", key), lambda: self.blobs.put(key, value))

    def get(self, key: str) -> bytes:
        """Return an object's bytes."""
        return self.attempts.make(self._call("GetObject", f"read '{key}' from", key), lambda: self.blobs.get(key))

    def drop(self, keys: Sequence[str]) -> None:
        """Delete objects; those that are gone already are no fault."""
        if keys:
            self.attempts.make(
                self._call("DeleteObjects", "delete objects from", keys[0]), lambda: self.blobs.drop(keys)
            )

    def purge(self, prefix: str) -> None:
        """Delete every object whose key begins so."""
        call = self._call("ListObjectsV2", f"delete '{prefix}' from", prefix)
        if found := self.attempts.make(call, lambda: self.blobs.keys(prefix)):
            self.drop(found)

    def _call(self, operation: str, doing: str, key: str) -> PortCall:
        return PortCall("s3", operation, f"{doing} the payload bucket", lambda: {"Key": key})


@dataclass(frozen=True, slots=True)
class RecordedPublisher:
    """Implements `durable.runtime.ports.Publisher`."""

    publisher: SqlitePublisher
    attempts: Attempts
    bus: str

    def publish(self, event: str, source: str, detail: str) -> None:
        """Publish an event; `detail` is JSON."""
        call = _put_events(self.bus, source, event, detail, f"publish event '{event}'")
        self.attempts.once(call, lambda: self.publisher.publish(event, source, detail))


def _put_events(bus: str, source: str, detail_type: str, detail: str, doing: str) -> PortCall:
    entry = {"EventBusName": bus, "Source": source, "DetailType": detail_type, "Detail": detail}

    def given() -> Mapping[str, Any]:
        return {"Entries": [entry]}

    return PortCall("eventbridge", "PutEvents", doing, given)
