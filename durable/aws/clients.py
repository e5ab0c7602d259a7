"""boto3 clients, each made when it is first used: making one is the slow part of a cold start."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import boto3

from durable.aws.errors import PATIENCE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_scheduler import EventBridgeSchedulerClient
    from mypy_boto3_sqs import SQSClient


class Clients:
    """The clients of one session, by default of boto3's own: what the first has loaded, the second need not."""

    def __init__(self, session: boto3.Session | None = None, *, region: str | None = None) -> None:
        self._make = boto3.client if session is None else session.client
        self._region = region

    def dynamodb(self) -> DynamoDBClient:
        """DynamoDB's."""
        return self._dynamodb

    def sqs(self) -> SQSClient:
        """SQS's."""
        return self._sqs

    def events(self) -> EventBridgeClient:
        """EventBridge's."""
        return self._events

    def scheduler(self) -> EventBridgeSchedulerClient:
        """EventBridge Scheduler's."""
        return self._scheduler

    def s3(self) -> S3Client:
        """S3's."""
        return self._s3

    @cached_property
    def _dynamodb(self) -> DynamoDBClient:
        return self._make("dynamodb", region_name=self._region, config=PATIENCE)

    @cached_property
    def _sqs(self) -> SQSClient:
        return self._make("sqs", region_name=self._region, config=PATIENCE)

    @cached_property
    def _events(self) -> EventBridgeClient:
        return self._make("events", region_name=self._region, config=PATIENCE)

    @cached_property
    def _scheduler(self) -> EventBridgeSchedulerClient:
        return self._make("scheduler", region_name=self._region, config=PATIENCE)

    @cached_property
    def _s3(self) -> S3Client:
        return self._make("s3", region_name=self._region, config=PATIENCE)
