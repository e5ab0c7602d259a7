"""The client for callers outside Lambda."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable.aws.clients import Clients
from durable.aws.dynamodb.store import DynamoStore
from durable.aws.s3 import S3Blobs
from durable.aws.sqs import SqsQueue
from durable.aws.system import LambdaProcess, RandomNonces, SystemClock
from durable.runtime.client.client import Client
from durable.runtime.ports import ExecutionEnded, Ports, StepEnded
from durable.runtime.registry import Registry
from durable.runtime.storage.values import Vault

if TYPE_CHECKING:
    import boto3


class Unobserved:
    """Implements `durable.runtime.ports.Observer`: nobody is told."""

    def execution_started(self, execution_id: str, workflow: str) -> None:
        """Nobody is told."""

    def body_started(self, execution_id: str, path: str, attempt: int, *, rollback: bool) -> None:
        """Nobody is told."""

    def step_ended(self, event: StepEnded) -> None:
        """Nobody is told."""

    def execution_ended(self, event: ExecutionEnded) -> None:
        """Nobody is told."""

    def noticed(self, what: str, execution_id: str, workflow: str) -> None:
        """Nobody is told."""


def connect(*, table: str, queue: str, bucket: str = "", session: boto3.Session | None = None) -> Client:
    """A client over this table (its name) and this queue (the continuations' URL); no call is made before the first use."""
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
