"""moto, mended where it differs from AWS in a way that a clock that stands still brings out, or that takes its time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from durable.testing.aws.units import Item
from durable.testing.template.stack import ACCOUNT, REGION, Queue


class Moto:
    """AWS is moto, in this process."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """moto answers, and nothing is in it yet."""
        from moto import mock_aws  # 600 ms: only when a test really deploys

        with ExitStack() as mends:
            mends.enter_context(mock_aws())
            _show_on_time(mends)
            _serialise_quickly(mends)
            _keep_the_stream(mends)
            _take_tokens_once(mends)
            _follow_input_paths(mends)
            yield

    def item(self, table: str, key: Item) -> Item | None:
        """An item, as it stands."""
        from moto.dynamodb.models import dynamodb_backends

        item = dynamodb_backends[ACCOUNT][REGION].get_item(table, dict(key))
        return None if item is None else {name: value.to_json() for name, value in item.attrs.items()}

    def messages(self, queue: Queue) -> Iterator[tuple[str, str]]:
        """The ids and bodies of the messages in a queue."""
        from moto.sqs.models import sqs_backends

        for message in sqs_backends[ACCOUNT][REGION].queues[queue.name]._messages:
            yield message.id, message.body


def _show_on_time(mends: ExitStack) -> None:
    """A message is visible from the moment at which its time is over; moto wants a later one, which never comes."""
    from moto.core.utils import unix_time_millis
    from moto.sqs.models import Message

    def visible(message: Any) -> bool:
        return bool(unix_time_millis() >= message.visible_at)

    mends.enter_context(patch.object(Message, "visible", property(visible)))


def _serialise_quickly(mends: ExitStack) -> None:
    """An attribute's value has one member: moto tries ten, each under three names, for a third of all its time."""
    from moto.core.serialize import ResponseSerializer

    slowly = getattr(ResponseSerializer, "get_value", None)
    if slowly is None:  # another version of moto: slower, and no less right
        return

    def get_value(serializer: Any, value: Any, key: str, shape: Any) -> Any:
        if type(value) is dict and getattr(getattr(shape, "parent", None), "name", "") == "AttributeValue":
            return value.get(key)
        return slowly(serializer, value, key, shape)

    mends.enter_context(patch.object(ResponseSerializer, "get_value", get_value))


def _keep_the_stream(mends: ExitStack) -> None:
    """A transaction that is refused leaves no record, and the readers of the stream where they were.

    moto copies the whole table before each transaction, with every record that its stream ever had; after a refused one
    the copy takes the table's place, and whoever reads the stream goes on reading the one that nobody writes any more.
    """
    from moto.dynamodb.models import DynamoDBBackend
    from moto.dynamodb.models.table import StreamShard

    transact_write_items = DynamoDBBackend.transact_write_items

    def transact(backend: Any, actions: list[dict[str, Any]]) -> None:
        shards = {name: table.stream_shard for name, table in backend.tables.items() if table.stream_shard is not None}
        lengths = {name: len(shard.items) for name, shard in shards.items()}
        try:
            transact_write_items(backend, actions)
        except Exception:
            for name, shard in shards.items():
                del shard.items[lengths[name] :]
                shard.table = backend.tables[name]
            raise

    mends.enter_context(patch.object(DynamoDBBackend, "transact_write_items", transact))
    mends.enter_context(patch.object(StreamShard, "__deepcopy__", lambda shard, memo: shard, create=True))


def _take_tokens_once(mends: ExitStack) -> None:
    """A transaction whose token was seen is answered as before, and not applied again: botocore may repeat an attempt."""
    from moto.dynamodb.responses import DynamoHandler

    transact_write_items = DynamoHandler.transact_write_items
    answers: dict[str, Any] = {}

    def transact(handler: Any) -> Any:
        token = handler.body["ClientRequestToken"]  # botocore gives one to every transaction
        if token not in answers:
            answers[token] = transact_write_items(handler)
        return answers[token]

    mends.enter_context(patch.object(DynamoHandler, "transact_write_items", transact))


def _follow_input_paths(mends: ExitStack) -> None:
    """A rule whose target has an input path delivers that part of the event; moto delivers all of it."""
    from moto.events.models import Rule

    put_targets = Rule.put_targets

    def put(rule: Any, targets: list[dict[str, Any]]) -> None:
        put_targets(rule, [_with_transformer(target) for target in targets])

    mends.enter_context(patch.object(Rule, "put_targets", put))


def _with_transformer(target: dict[str, Any]) -> dict[str, Any]:
    if "InputPath" not in target:
        return target
    return {**target, "InputTransformer": {"InputPathsMap": {"part": target["InputPath"]}, "InputTemplate": "<part>"}}
