"""What the harness needs of a package of handlers: install and build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import boto3


@dataclass
class Application:
    environment: Mapping[str, str]
    workflows: list[Any] | None
    sqs: Any
    dynamodb: Any
    seen: list[str] = field(default_factory=list)  # what a warm process keeps

    @property
    def client(self) -> Application:
        return self

    def start(self, body: str, delay: int = 0) -> str:
        answer = self.sqs.send_message(QueueUrl=self.environment["QUEUE"], MessageBody=body, DelaySeconds=delay)
        return str(answer["MessageId"])


installed: Application | None = None
_clients: dict[str, Any] = {}


def install(application: Application | None) -> None:
    global installed
    installed = application


def application() -> Application:
    assert installed is not None
    return installed


def build(
    environment: Mapping[str, str],
    workflows: Iterable[Any] | None = None,
    clock: Any = None,
    *,
    process: Any = None,
    observer: Any = None,
) -> Application:
    for service in {"sqs", "dynamodb"} - _clients.keys():  # making a client takes longer than all the rest
        make: Any = boto3.client
        _clients[service] = make(service)
    return Application(environment, None if workflows is None else list(workflows), **_clients)
