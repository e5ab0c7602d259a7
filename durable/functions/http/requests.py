"""What an HTTP request says, checked."""

from __future__ import annotations

import base64
import binascii
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import msgspec

from durable.api.messages import checked_queue
from durable.codec import MAX_VALUE
from durable.errors import InvalidName
from durable.functions.http.problems import BadRequest

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

T = TypeVar("T")
LONGEST_WAIT = 20.0  # seconds: API Gateway answers for the function after 30


class Cancellation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a cancel."""

    rollback: bool = True


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a verb that takes nothing."""


def text_of(request: APIGatewayProxyEventV2) -> bytes:
    """The body, at most as large as an input may be."""
    body = request.body or ""
    try:
        text = base64.b64decode(body, validate=True) if request.is_base64_encoded else body.encode()
        text.decode()
    except (binascii.Error, ValueError) as error:
        raise BadRequest("the body is not UTF-8 text", "$") from error
    if len(text) > MAX_VALUE:
        raise BadRequest(
            f"the body is {len(text):,} bytes; at most {MAX_VALUE:,} can be stored. Put the data where it belongs, and "
            "send its key.",
            "$",
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        )
    return text


def body_of(request: APIGatewayProxyEventV2, kind: type[T]) -> T:
    """The body as one of these; an empty one is an empty object."""
    try:
        return msgspec.json.decode(text_of(request).strip() or b"{}", type=kind)
    except msgspec.MsgspecError as error:
        reason, _, path = str(error).partition(" - at `")
        raise BadRequest(reason, path.rstrip("`") or "$") from error


def key_of(request: APIGatewayProxyEventV2) -> str:
    """Return the caller's Idempotency-Key, the id of what the request makes; without one each request makes its own."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return str(uuid4())
    if not key.strip():  # a caller who meant to give one would make another with each repetition
        message = "the Idempotency-Key is empty: leave it out, or give each request of yours its own"
        raise BadRequest(message, "Idempotency-Key")
    return key


def version_of(request: APIGatewayProxyEventV2) -> int | None:
    """The version that the query asks for."""
    text = (request.query_string_parameters or {}).get("version")
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal():
        raise BadRequest(f"version is a whole number, not {text!r}", "version")
    return int(text)


def json_of(request: APIGatewayProxyEventV2) -> msgspec.Raw:
    """Return the body as JSON text: its numbers are read when their types are known; null where there is none."""
    body_of(request, Any)  # which says where it is no JSON
    return msgspec.Raw(text_of(request).strip() or b"null")


def arguments_of(request: APIGatewayProxyEventV2) -> dict[str, bytes]:
    """Return the body, which is an object, as JSON text by name."""
    return {name: bytes(raw) for name, raw in body_of(request, dict[str, msgspec.Raw]).items()}


def wait_of(request: APIGatewayProxyEventV2) -> float | None:
    """How many seconds the query asks to wait for the answer; None: not at all."""
    text = (request.query_string_parameters or {}).get("wait")
    if text is None:
        return None
    try:
        wait = float(text)
    except ValueError:
        wait = -1
    if not 0 <= wait <= LONGEST_WAIT:
        raise BadRequest(f"wait is a number of seconds from 0 to {LONGEST_WAIT:g}, not {text!r}", "wait")
    return wait


def queue_of(name: str) -> str:
    """The queue that the path names."""
    try:
        return checked_queue(name)
    except InvalidName as error:
        raise BadRequest(str(error), "queue") from error
