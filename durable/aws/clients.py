"""Make boto3 clients, each when it is first used: making one is the slow part of a cold start."""

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
    """The clients of one boto3 session, which loads what they share once."""

    def __init__(self, session: boto3.Session | None = None, *, region: str | None = None) -> None:
        self._make = boto3.client if session is None else session.client
        self._region = region

    def dynamodb(self) -> DynamoDBClient:
        """Return the client of DynamoDB."""
        return self._dynamodb

    def sqs(self) -> SQSClient:
        """Return the client of SQS."""
        return self._sqs

    def events(self) -> EventBridgeClient:
        """Return the client of EventBridge."""
        return self._events

    def scheduler(self) -> EventBridgeSchedulerClient:
        """Return the client of EventBridge Scheduler."""
        return self._scheduler

    def s3(self) -> S3Client:
        """Return the client of S3."""
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
