"""Events on an EventBridge bus: continuations, where that is the transport, and what users publish.

A rule moves the continuations from the bus to the same queue, so that holding and dead letters work as without a bus.
EventBridge answers 200 for entries that it did not accept: the outcome of each entry is checked.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from durable.aws.errors import boundary
from durable.errors import InvalidInput, StoreError
from durable.protocol.continuation import DETAIL_TYPE, SOURCE, Continuation
from durable.runtime.ports import Queue

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

MAX_EVENT = 1024 * 1024  # bytes of source, detail type and detail
PAUSE = 0.2  # seconds, at most, before an entry is put a second time
PASSING = frozenset({"ThrottlingException", "InternalFailure", "InternalException"})


class EventBridgeQueue:
    """Implements `durable.runtime.ports.Queue` over the queue to which the bus delivers."""

    def __init__(
        self,
        queue: Queue,
        bus: str,
        client: Callable[[], EventBridgeClient],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._queue = queue
        self._bus = bus
        self._client = client
        self._sleep = sleep

    def send(self, continuation: Continuation, delay: float = 0) -> None:
        """Publish a continuation; one with a delay, which a bus can't hold back, goes to the queue directly."""
        if delay > 0:
            self._queue.send(continuation, delay)
            return
        put(
            self._client,
            f"publish a continuation of execution '{continuation.execution}'",
            {
                "EventBusName": self._bus,
                "Source": SOURCE,
                "DetailType": DETAIL_TYPE,
                "Detail": continuation.encode(),
            },
            self._sleep,
        )

    def forget(self, continuation: Continuation) -> None:
        """Delete what was scheduled for much later."""
        self._queue.forget(continuation)

    def hold(self, receipt: str, seconds: float) -> None:
        """Keep a delivered message invisible for that long; it is then delivered again."""
        self._queue.hold(receipt, seconds)

    def reject(self, body: str, reason: str) -> None:
        """Send a message that no code can handle to the rejected queue, with the reason."""
        self._queue.reject(body, reason)


class EventBridgePublisher:
    """Implements `durable.runtime.ports.Publisher`: events for the user's own subscribers."""

    def __init__(
        self, bus: str, client: Callable[[], EventBridgeClient], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._bus = bus
        self._client = client
        self._sleep = sleep

    def publish(self, event: str, source: str, detail: str) -> None:
        """Put an event on the bus; `detail` is a JSON object. Raises InvalidInput when it is too large, StoreError."""
        size = sum(len(part.encode()) for part in (event, source, detail))
        if size > MAX_EVENT:
            raise InvalidInput(
                f"the event '{event}' is {size:,} bytes; EventBridge takes at most {MAX_EVENT:,}. "
                "Put the data where it belongs, and publish its key."
            )
        put(
            self._client,
            f"publish event '{event}'",
            {"EventBusName": self._bus, "Source": source, "DetailType": event, "Detail": detail},
            self._sleep,
        )


def put(
    client: Callable[[], EventBridgeClient],
    doing: str,
    entry: PutEventsRequestEntryTypeDef,
    sleep: Callable[[float], None],
) -> None:
    """Put one entry, and once more after a transient failure. Raises StoreError with EventBridge's own reason."""
    code = message = ""
    for pause in (PAUSE, 0):
        with boundary(doing):
            answer = client().put_events(Entries=[entry])
        if not answer["FailedEntryCount"]:
            return
        failed = answer["Entries"][0]
        code, message = failed.get("ErrorCode", ""), failed.get("ErrorMessage", "")
        if code not in PASSING or not pause:
            break
        sleep(random.uniform(0, pause))
    raise StoreError(f"could not {doing}: {code}: {message}")
