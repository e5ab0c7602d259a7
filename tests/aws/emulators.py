"""The AWS of these tests: moto in this process, or the MiniStack at DURABLE_TEST_ENDPOINT (`make test-deploy`)."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
from moto import mock_aws

from durable.aws.clients import Clients
from durable.testing.environment import installed
from tests.emulators import ENDPOINT

REGION = "us-east-1"


@contextmanager
def emulated() -> Iterator[None]:
    """An AWS with nothing in it, for every client that is made here."""
    if not ENDPOINT:
        with mock_aws():
            yield
        return
    urllib.request.urlopen(urllib.request.Request(f"{ENDPOINT}/_ministack/reset", b"", method="POST")).close()
    with installed({"AWS_ENDPOINT_URL": ENDPOINT}):
        yield


def connected() -> Clients:
    """The clients of all tests, made once."""
    with emulated():
        made = Clients(boto3.Session("testing", "testing", region_name=REGION))
        made.dynamodb()
        made.sqs()
        made.events()
        made.scheduler()
        return made
