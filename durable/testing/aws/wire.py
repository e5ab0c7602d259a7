"""The wire: the one place that every HTTP attempt of every botocore client passes, between botocore and the emulator.

moto has a hook at botocore's `before-send` event, where the emulator answers. What stands around it there sees each
attempt, botocore's own retries too, can let it not be sent, or let its answer be lost.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, NoReturn
from unittest.mock import patch

from durable.testing.faults import Answered, AnswerLost
from durable.testing.lifetime import refuse_outside

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest, AWSResponse

Send = Callable[[], "AWSResponse"]
Carry = Callable[["Request", Send], "AWSResponse"]


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP attempt."""

    service: str  # dynamodb, sqs, eventbridge …, as botocore's event names have it
    operation: str  # botocore's name
    parameters: Mapping[str, Any]  # as on the wire: binary values are base64
    size: int  # bytes of the body
    url: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    body: Mapping[str, Any]
    size: int

    @property
    def error(self) -> str | None:
        """The error's code; None when the call succeeded."""
        if self.status < 300:
            return None
        return str(self.body.get("__type", "")).rpartition("#")[2] or f"HTTP {self.status}"


@contextmanager
def tapped(carry: Carry) -> Iterator[None]:
    """Every attempt is handed to `carry`, which sends it on, or not.

    Clients that were made before moto was imported have no hook of moto: their attempts are handed over where botocore
    would put them on the network. Clients that are made inside refuse to work when no harness is open any more.
    """
    from botocore.endpoint import Endpoint
    from botocore.exceptions import ConnectionClosedError
    from moto.core.botocore_stubber import BotocoreStubber
    from moto.core.models import botocore_stubber

    forward = BotocoreStubber.__call__
    exchange: Callable[..., Any] = vars(Endpoint)["_do_get_response"]
    operations = threading.local()

    def call(stubber: Any, event_name: str, request: AWSPreparedRequest, **others: Any) -> Any:
        def send() -> AWSResponse:
            response = forward(stubber, event_name, request, **others)
            if response is None:
                _refuse(request.url)
            return response

        try:
            return carry(_request(event_name, request), send)
        except Answered as answered:
            return response(request.url, answered.status, {}, _content(event_name, answered))
        except AnswerLost as lost:
            raise ConnectionClosedError(endpoint_url=f"{request.url}, {lost}") from lost

    def named(endpoint: Any, request: Any, operation: Any, context: Any) -> Any:
        operations.current = f"before-send.{operation.service_model.service_id.hyphenize()}.{operation.name}"
        return exchange(endpoint, request, operation, context)

    def unhooked(_endpoint: Any, request: AWSPreparedRequest) -> Any:
        return call(botocore_stubber, operations.current, request)

    with ExitStack() as patches:
        patches.enter_context(patch.object(BotocoreStubber, "__call__", call))
        patches.enter_context(patch.object(Endpoint, "_do_get_response", named))
        patches.enter_context(patch.object(Endpoint, "_send", unhooked))
        patches.enter_context(clients_refuse_outside())
        patches.enter_context(patch("botocore.endpoint.time", _NoWait))
        yield


@contextmanager
def clients_refuse_outside() -> Iterator[None]:
    """Clients that are made meanwhile refuse to make a call when no harness is open."""
    from botocore.client import ClientCreator

    create = ClientCreator.create_client

    def guarded(*arguments: Any, **settings: Any) -> Any:
        client: Any = create(*arguments, **settings)
        for event in ("before-call", "before-send"):  # before it is signed; and before each repeated attempt
            client.meta.events.register_first(event, refuse_outside, unique_id=f"durable-{event}")
        return client

    with patch.object(ClientCreator, "create_client", guarded):
        yield


@contextmanager
def calls_refused(why: Exception) -> Iterator[None]:
    """No call of botocore leaves the process."""
    from botocore.endpoint import Endpoint

    def refuse(_endpoint: Any, _request: Any) -> NoReturn:
        raise why

    with clients_refuse_outside(), patch.object(Endpoint, "_send", refuse):
        yield


class _NoWait:
    """botocore's own backoff takes no time here."""

    @staticmethod
    def sleep(seconds: float) -> None:
        """Returns at once."""


def _request(event_name: str, request: AWSPreparedRequest) -> Request:
    _, service, operation = event_name.split(".")
    body = request.body or b""
    content = body if isinstance(body, bytes) else str(body).encode()
    return Request(service, operation, _json(content), len(content), request.url)


def _content(event_name: str, answered: Answered) -> bytes:
    """An answer as the service writes it: S3's errors are XML."""
    if event_name.split(".")[1] == "s3":
        text = f"<Code>{answered.error}</Code><Message>{answered.body.get('message', '')}</Message>"
        return f'<?xml version="1.0" encoding="UTF-8"?><Error>{text}</Error>'.encode()
    return json.dumps(answered.body).encode()


def answer_of(response: AWSResponse) -> Answer:
    """A response, read, and rewound: a body that streams is read again by whoever asked for it."""
    content = response.content
    response.raw.seek(0)
    return Answer(response.status_code, _json(content), len(content))


def _json(content: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(content or b"{}")
    except ValueError:  # S3's XML, a payload
        return {}
    return value if isinstance(value, dict) else {}


def response(url: str, status: int, headers: Mapping[str, str], content: bytes) -> AWSResponse:
    """A response as botocore has it from its own connection."""
    from botocore.awsrequest import AWSResponse
    from botocore.compat import HTTPHeaders

    return AWSResponse(url, status, HTTPHeaders.from_dict(headers), _Raw(content))


class _Raw(BytesIO):
    """A body as botocore reads it."""

    def stream(self, *_arguments: Any, **_settings: Any) -> Iterator[bytes]:
        yield self.read()


def _refuse(url: str) -> NoReturn:
    raise RuntimeError(f"a call to {url} would have left the process: moto does not answer for it.")
