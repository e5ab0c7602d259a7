"""The client for callers outside Lambda."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable.aws.clients import Clients
from durable.aws.dynamodb.store import DynamoStore
from durable.aws.s3 import S3Blobs
from durable.aws.sqs import SqsQueue
from durable.aws.system import LambdaProcess, RandomNonces, SystemClock
from durable.runtime.client.client import Client
from durable.runtime.events import Event
from durable.runtime.ports import Ports
from durable.runtime.registry import Registry
from durable.runtime.storage.values import Vault

if TYPE_CHECKING:
    import boto3


class Unobserved:
    """Implements `durable.runtime.ports.Observer`: nothing is counted."""

    def observe(self, event: Event) -> None:
        """Do nothing."""


def connect(*, table: str, queue: str, bucket: str = "", session: boto3.Session | None = None) -> Client:
    """Return a client over this table (its name) and queue (its URL); it makes no call before its first use."""
    clients = Clients(session)
    store = DynamoStore(table, clients.dynamodb)
    ports = Ports(
        store=store,
        values=Vault(store, S3Blobs(bucket, clients.s3) if bucket else None),
        queue=SqsQueue(queue, clients.sqs),
        clock=SystemClock(),
        nonces=RandomNonces(),
        process=LambdaProcess(),
        observer=Unobserved(),
    )
    return Client(ports, Registry([]))
