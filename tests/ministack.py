"""Harnesses whose AWS is a MiniStack: a program that somebody else wrote, which `infra.local.virtual_time` has started."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from urllib.parse import quote, urlsplit
from uuid import uuid4

import urllib3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from durable.testing.aws.moto import Moto
from durable.testing.aws.units import Item
from durable.testing.aws.wire import response
from durable.testing.template.stack import REGION, Queue
from infra.local.virtual_time import HEADER

IN_VIRTUAL_TIME = ("sqs", "eventbridge", "scheduler")
# Records and iterators of a stream age: Lambda, which polls all the time, never sees an old one.
IN_REAL_TIME = ("dynamodb", "dynamodb-streams")


class MiniStack:
    """Each harness has an account of its own, in which nothing is yet: several processes can use one MiniStack."""

    def __init__(self, endpoint: str) -> None:
        address = urlsplit(endpoint)
        self._http = urllib3.HTTPConnectionPool(address.hostname or "", address.port, maxsize=4, retries=False)
        self._account = ""
        self._seen: dict[str, Item | None] = {}  # items since the last call: its cost alone reads each of them twice

    @contextmanager
    def running(self) -> Iterator[None]:
        from moto.core.botocore_stubber import BotocoreStubber

        by_moto = BotocoreStubber.__call__

        def answer(stubber: Any, event_name: str, request: AWSPreparedRequest, **others: Any) -> AWSResponse | None:
            service = event_name.split(".")[1]
            if service in IN_VIRTUAL_TIME:
                return self._answer(request, {HEADER: str(round(time.time() * 1000))})
            if service in IN_REAL_TIME:
                return self._answer(request, {})
            return by_moto(stubber, event_name, request, **others)  # S3, whose buckets belong to no account

        self._account = f"{uuid4().int % 10**12:012}"
        with Moto().running(), patch.object(BotocoreStubber, "__call__", answer):
            yield

    def item(self, table: str, key: Item) -> Item | None:
        question = json.dumps({"TableName": table, "Key": key, "ConsistentRead": True})
        seen = self._seen
        if question not in seen:
            headers = {
                "Authorization": f"AWS4-HMAC-SHA256 Credential={self._account}/20300101/{REGION}/dynamodb/aws4_request",
                "X-Amz-Target": "DynamoDB_20120810.GetItem",
            }
            answer = self._http.request("POST", "/", question.encode(), headers=headers)
            assert answer.status == 200, answer.data
            seen[question] = answer.json().get("Item")
        return seen[question]

    def messages(self, queue: Queue) -> Iterator[tuple[str, str]]:
        place = f"/_ministack/sqs/messages?account={self._account}&QueueUrl={quote(queue.url, safe='')}"
        accounts = self._http.request("GET", place).json()["messages"]
        for message in accounts[self._account][REGION][queue.url]:
            yield message["MessageId"], message["Body"]

    def _answer(self, request: AWSPreparedRequest, moment: dict[str, str]) -> AWSResponse:
        address = urlsplit(request.url)
        place = address.path + (f"?{address.query}" if address.query else "")
        headers = {name: _text(value) for name, value in request.headers.items()} | moment
        headers["Authorization"] = re.sub(r"Credential=\w+", f"Credential={self._account}", headers["Authorization"])
        body: Any = request.body
        try:
            answer = self._http.request(request.method, place, body, headers=headers)
        finally:
            self._seen = {}  # another one: who is reading an item just now may put into the old one what was before
        return response(request.url, answer.status, answer.headers, answer.data)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
