"""Lambda's SQS event source mapping: receives a batch, invokes, deletes what did not fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from durable.testing.invocations import Invocation
from durable.testing.sources.messages import Polling, Record
from durable.testing.sources.source import ALL, Invoke, failed_items
from durable.testing.template.definitions import QueueSource
from durable.testing.template.stack import Queue


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages that were received for the function, and are not yet delivered."""

    poller: QueuePoller
    records: Sequence[Record]

    @property
    def bodies(self) -> list[str]:
        """The messages' bodies."""
        return [record["body"] for record in self.records]

    def invoke(self) -> Invocation:
        """Invokes the function with the batch and leaves the messages as they are: call it twice for a duplicate."""
        return self.poller.invoke(self.poller.source.function, {"Records": self.records})

    def settle(self, invocation: Invocation) -> None:
        """Deletes what the invocation did not report as failed; the rest comes back when it is visible again."""
        identifiers = {record["messageId"]: record for record in self.records}
        failed = failed_items(invocation, identifiers, partial=self.poller.source.partial_failures)
        if failed is not ALL:
            self.poller.delete([record for record in self.records if record["messageId"] not in failed])

    def deliver(self) -> Invocation:
        """Invokes and settles."""
        invocation = self.invoke()
        self.settle(invocation)
        return invocation

    def lose(self) -> None:
        """The messages are gone, and no function ever saw them."""
        self.poller.delete(self.records)

    def release(self) -> None:
        """Puts the messages back, visible at once."""
        for record in self.records:
            self.poller.show(record)


@dataclass(frozen=True, slots=True)
class QueuePoller:
    """Polls one queue for one function."""

    source: QueueSource
    queue: Queue
    polling: Polling
    invoke: Invoke

    def poll(self) -> Batch | None:
        """The next batch; None when nothing is visible."""
        records = self.polling.receive(self.queue, self.source.batch_size)
        return Batch(self, records) if records else None

    def delete(self, records: Sequence[Record]) -> None:
        """Deletes the messages."""
        self.polling.delete(self.queue, records)

    def show(self, record: Record) -> None:
        """Makes a message visible again."""
        self.polling.show(self.queue, record)
