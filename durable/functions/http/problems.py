"""What HTTP answers when something is wrong: a status, the error's name, what to do, and the field if it is one (E10)."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from aws_lambda_powertools.event_handler import Response

from durable import (
    ActionNotFound,
    AlreadyStarted,
    ExecutionBusy,
    ExecutionNotFound,
    InvalidInput,
    InvalidName,
    InvalidState,
    StoreError,
    WorkflowNotFound,
)
from durable.errors import DurableError

STATUS: dict[type[DurableError], HTTPStatus] = {
    InvalidInput: HTTPStatus.BAD_REQUEST,
    InvalidName: HTTPStatus.BAD_REQUEST,
    ExecutionNotFound: HTTPStatus.NOT_FOUND,
    WorkflowNotFound: HTTPStatus.NOT_FOUND,
    ActionNotFound: HTTPStatus.NOT_FOUND,
    AlreadyStarted: HTTPStatus.CONFLICT,
    InvalidState: HTTPStatus.CONFLICT,
    ExecutionBusy: HTTPStatus.CONFLICT,
    StoreError: HTTPStatus.SERVICE_UNAVAILABLE,
}


class BadRequest(DurableError):
    """A request that is not as it should be; `field` says where."""

    def __init__(self, message: str, field: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        self.field = field
        self.status = status
        super().__init__(message)


def problem(error: DurableError) -> Response[str]:
    """The answer for an error of ours."""
    if isinstance(error, BadRequest):
        return answer(error.status, type(error).__name__, str(error), error.field)
    status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), None)
    if status is None:
        return fault()
    if status is HTTPStatus.SERVICE_UNAVAILABLE:  # what the store said is in the log, and no caller's business
        message = "the table or the queue can't be reached now; nothing was lost: send the request again"
        return answer(status, type(error).__name__, message, headers={"retry-after": "1"})
    return answer(status, type(error).__name__, str(error), _field(error))


def fault() -> Response[str]:
    """The answer for a fault of ours: what it was is in the log."""
    return answer(
        HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", "the request failed; the function's log has the reason"
    )


def answer(
    status: HTTPStatus, error: str, message: str, field: str | None = None, headers: dict[str, str] | None = None
) -> Response[str]:
    """An error as JSON."""
    body = {"error": error, "message": message} | ({"field": field} if field is not None else {})
    return Response(int(status), "application/json", msgspec.json.encode(body).decode(), dict(headers or {}))


def _field(error: DurableError) -> str | None:
    match error:
        case InvalidInput():
            return error.path
        case InvalidName():
            return "Idempotency-Key"
        case _:
            return None
