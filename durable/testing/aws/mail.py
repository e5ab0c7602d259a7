"""What waits in the queues and until when, learnt from the calls that go by: so the clock knows where to jump."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from durable.runtime.ports import Clock
from durable.testing.aws.wire import Answer, Request
from durable.testing.faults import Answered
from durable.testing.sources.messages import Message
from durable.testing.template.stack import Queue

_COPY = "copy-"  # how the receipt handles of copies begin

Look = Callable[[Queue], Iterable[tuple[str, str]]]
"""What is in a queue: ids and bodies."""


def _unseen(queue: Queue) -> Iterable[tuple[str, str]]:
    return ()


@dataclass(slots=True)
class Mail:
    """The messages that are in the queues: sent, not deleted."""

    clock: Clock
    queues: Mapping[str, Queue]
    look: Look = _unseen  # where messages arrive by other ways than calls
    sent: list[Message] = field(default_factory=list)  # every message ever sent, in order
    duplicates: int = 0  # how many copies each message that is sent from now on gets
    _waiting: dict[tuple[str, int], Message] = field(default_factory=dict)  # by message id and number of the copy
    _handles: dict[str, tuple[str, int]] = field(default_factory=dict)
    _copies: int = 0

    def waiting(self, queue: str | None = None) -> list[Message]:
        """What is in the queue (or in any), soonest visible first."""
        found = [message for message in self._waiting.values() if queue in (None, message.queue)]
        return sorted(found, key=lambda message: message.visible)

    def due(self) -> list[str]:
        """The queues that have something visible, the longest waiting first."""
        now = self.clock.now()
        return list(dict.fromkeys(message.queue for message in self.waiting() if message.visible <= now))

    def next(self, queues: frozenset[str]) -> int | None:
        """When a message of these queues becomes visible."""
        return min((m.visible for m in self._waiting.values() if m.queue in queues), default=None)

    # --- copies -----------------------------------------------------------------------------------------------------

    def duplicate(self, message: Message, visible: int) -> Message:
        """A second delivery of the message, at this time, under the same id."""
        self._copies += 1
        copy = replace(message, copy=self._copies, visible=visible, received=0)
        self._keep(copy)
        self._handles[handle_of(copy)] = (copy.id, copy.copy)
        return copy

    def take_copies(self, queue: str, count: int) -> list[Message]:
        """Receives copies that are due, as a ReceiveMessage would: they are invisible for the queue's time."""
        now = self.clock.now()
        due = [m for m in self.waiting(queue) if m.copy and m.visible <= now][:count]
        taken = [replace(m, visible=now + self._queue(queue).visibility * 1000, received=m.received + 1) for m in due]
        for message in taken:
            self._keep(message)
        return taken

    # --- what goes by -----------------------------------------------------------------------------------------------

    def before(self, request: Request) -> None:
        """Answers calls that are about copies, of which SQS knows nothing."""
        handle = str(request.parameters.get("ReceiptHandle", ""))
        if request.service == "sqs" and handle.startswith(_COPY):
            self._settled(request.operation, request.parameters)
            raise Answered(200, {})

    def after(self, request: Request, answer: Answer) -> None:
        """Takes note of what the call did."""
        if answer.error is not None:
            return
        if request.operation == "PutEvents":  # a rule may have put a message into any queue
            for queue in self.queues.values():
                for identity, body in self.look(queue):
                    if (identity, 0) not in self._waiting:
                        self._arrived(queue, identity, body, {}, queue.delay)
        if request.service != "sqs":
            return
        parameters = request.parameters
        match request.operation:
            case "SendMessage":
                self._was_sent(parameters["QueueUrl"], parameters, answer.body["MessageId"])
            case "SendMessageBatch":
                identities = {entry["Id"]: entry["MessageId"] for entry in answer.body.get("Successful", ())}
                for entry in parameters["Entries"]:
                    if entry["Id"] in identities:
                        self._was_sent(parameters["QueueUrl"], entry, identities[entry["Id"]])
            case "ReceiveMessage":
                self._was_received(parameters, answer.body.get("Messages", ()))
            case "DeleteMessage" | "ChangeMessageVisibility":
                self._settled(request.operation, parameters)
            case "DeleteMessageBatch" | "ChangeMessageVisibilityBatch":
                for entry in parameters["Entries"]:
                    self._settled(request.operation.removesuffix("Batch"), entry)
            case "PurgeQueue":
                if queue_purged := self._named(parameters["QueueUrl"]):
                    for message in self.waiting(queue_purged.id):
                        self._forget(message)

    def _was_sent(self, url: str, entry: Mapping[str, Any], identity: str) -> None:
        if queue := self._named(url):
            delay = int(entry.get("DelaySeconds", queue.delay))
            self._arrived(queue, identity, entry["MessageBody"], entry.get("MessageAttributes", {}), delay)

    def _arrived(self, queue: Queue, identity: str, body: str, attributes: Mapping[str, Any], delay: int) -> None:
        now = self.clock.now()
        message = Message(queue.id, identity, body, attributes, now, now + delay * 1000)
        self.sent.append(message)
        self._keep(message)
        for _ in range(self.duplicates):
            self.duplicate(message, message.visible)

    def _was_received(self, parameters: Mapping[str, Any], messages: Any) -> None:
        queue = self._named(parameters["QueueUrl"])
        if queue is None:
            return
        now = self.clock.now()
        visible = now + int(parameters.get("VisibilityTimeout", queue.visibility)) * 1000
        for received in messages:
            known = self._waiting.get((received["MessageId"], 0))
            message = known or Message(queue.id, received["MessageId"], received["Body"], {}, now, visible)
            self._keep(replace(message, queue=queue.id, visible=visible))
            self._handles[received["ReceiptHandle"]] = (message.id, 0)
        if len(messages) < int(parameters.get("MaxNumberOfMessages", 1)):
            for message in list(self._left_out(queue, now)):
                self._moved(queue, message)

    def _left_out(self, queue: Queue, now: int) -> Iterator[Message]:
        """What should have come and did not: it is gone, or has been received too often."""
        yield from (m for m in self.waiting(queue.id) if not m.copy and m.visible <= now)

    def _moved(self, queue: Queue, message: Message) -> None:
        self._forget(message)
        target = self._named(queue.dead_letters) if queue.dead_letters else None
        if target is not None:
            self._keep(replace(message, queue=target.id, visible=self.clock.now(), origin=queue.arn))

    def _settled(self, operation: str, parameters: Mapping[str, Any]) -> None:
        message = self._waiting.get(self._handles.get(parameters["ReceiptHandle"], ("", 0)))
        if message is None:
            return
        if operation == "DeleteMessage":
            self._forget(message)
        else:
            visible = self.clock.now() + int(parameters["VisibilityTimeout"]) * 1000
            self._keep(replace(message, visible=visible))

    def find(self, identity: str) -> Message | None:
        """The message of this id, as it waits now."""
        return self._waiting.get((identity, 0))

    def _keep(self, message: Message) -> None:
        self._waiting[message.id, message.copy] = message

    def _forget(self, message: Message) -> None:
        self._waiting.pop((message.id, message.copy), None)

    def _queue(self, identifier: str) -> Queue:
        return self.queues[identifier]

    def _named(self, arn_or_url: str) -> Queue | None:
        return next((queue for queue in self.queues.values() if arn_or_url in (queue.arn, queue.url)), None)


def handle_of(copy: Message) -> str:
    """The receipt handle of a copy, which is kept here and not in the queue."""
    return f"{_COPY}{copy.copy}-{copy.id}"
