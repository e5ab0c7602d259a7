"""The HTTP API: start an execution, look at it, send it messages, call its actions, and cancel, terminate, pause, resume it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from durable import Execution, codec
from durable.errors import DurableError, is_failure
from durable.functions import wiring
from durable.functions.entry import entry
from durable.functions.events.starts import input_of
from durable.functions.http import problems, views
from durable.functions.http.requests import (
    Cancellation,
    Nothing,
    arguments_of,
    body_of,
    json_of,
    key_of,
    queue_of,
    text_of,
    version_of,
    wait_of,
)
from durable.runtime.application import Application
from durable.usercode.failures import described

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

logger = logging.getLogger("durable.api")
app = APIGatewayHttpResolver()


@entry
def handler(application: Application, event: Any, context: LambdaContext) -> dict[str, Any]:
    """Answer a request."""
    return app.resolve(event, context)


@app.post("/workflows/<name>/executions")
def start(name: str) -> Response[str]:
    """Start an execution: the body is the input, the Idempotency-Key its id. A repeated request is the same execution."""
    request = app.current_event
    execution_id = key_of(request)
    wiring.application().client.start_named(
        name, input_of(text_of(request)), execution_id=execution_id, version=version_of(request)
    )
    return _accepted(execution_id)


@app.get("/executions/<execution_id>")
def get(execution_id: str) -> Response[str]:
    """Show an execution: status, output, error, state, rollback."""
    return _json(HTTPStatus.OK, views.execution(wiring.application(), execution_id))


@app.get("/executions/<execution_id>/history")
def history(execution_id: str) -> Response[str]:
    """Show every entry of its history."""
    return _json(HTTPStatus.OK, views.history(wiring.application(), execution_id))


@app.post("/executions/<execution_id>/actions/<action>")
def act(execution_id: str, action: str) -> Response[str]:
    """Call an action of its workflow: the body is an object of the arguments by name."""
    arguments = arguments_of(app.current_event)
    with _as_a_fault(action):
        result = _execution(execution_id).action_named(action, arguments)
    codec.encode(result)  # what can't be stored can't be shown: a fault of the action, and in the log
    return _json(HTTPStatus.OK, {"result": codec.plain(result)})


@app.post("/executions/<execution_id>/queues/<queue>")
def send(execution_id: str, queue: str) -> Response[str]:
    """Put a message into one of its queues: the body is the message, the Idempotency-Key its id.

    With ?wait=seconds the answer is the workflow's response. A repeated request is the same message.
    """
    request = app.current_event
    name, wait, message_id = queue_of(queue), wait_of(request), key_of(request)
    response = _execution(execution_id).send(name, json_of(request), wait=wait, message_id=message_id)
    if wait is None:
        return _json(HTTPStatus.ACCEPTED, {"id": execution_id, "queue": name, "message_id": message_id})
    return _json(HTTPStatus.OK, {"response": codec.plain(response)})


@app.post("/executions/<execution_id>/cancel")
def cancel(execution_id: str) -> Response[str]:
    """End it, with its rollback unless the body says {"rollback": false}."""
    rollback = body_of(app.current_event, Cancellation).rollback
    return _commanded(execution_id, lambda execution: execution.cancel(rollback=rollback))


@app.post("/executions/<execution_id>/terminate")
def terminate(execution_id: str) -> Response[str]:
    """End it at once, with no rollback."""
    body_of(app.current_event, Nothing)
    return _commanded(execution_id, Execution.terminate)


@app.post("/executions/<execution_id>/pause")
def pause(execution_id: str) -> Response[str]:
    """Let nothing more happen until it is resumed."""
    body_of(app.current_event, Nothing)
    return _commanded(execution_id, Execution.pause)


@app.post("/executions/<execution_id>/resume")
def resume(execution_id: str) -> Response[str]:
    """Go on."""
    body_of(app.current_event, Nothing)
    return _commanded(execution_id, Execution.resume)


def unknown_route(error: NotFoundError) -> Response[str]:
    """Answer a request for a path that does not exist, or not with this method."""
    request = app.current_event
    return problems.answer(HTTPStatus.NOT_FOUND, "NotFound", f"there is no {request.http_method} {request.path} here")


def refused(error: DurableError) -> Response[str]:
    """Answer with an error that the caller can correct, or try again."""
    response = problems.problem(error)
    if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("a request failed", exc_info=error)
    return response


def failed(error: Exception) -> Response[str]:
    """Answer for an unexpected error: its traceback is in the log, never in the answer."""
    logger.error("a request failed", exc_info=error)
    return problems.fault()


@contextmanager
def _as_a_fault(action: str) -> Iterator[None]:
    """Raise what an action raises that is no Exception as one: it fails its request, and not the process."""
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise RuntimeError(f"action '{action}' raised {described(error)}") from error


def _commanded(execution_id: str, command: Callable[[Execution[Any, Any]], None]) -> Response[str]:
    command(_execution(execution_id))
    return _accepted(execution_id)


def _execution(execution_id: str) -> Execution[Any, Any]:
    return wiring.application().client.get(views.possible(execution_id))


def _accepted(execution_id: str) -> Response[str]:
    view = views.standing(wiring.application(), execution_id)
    return _json(HTTPStatus.ACCEPTED, view, {"location": f"/executions/{execution_id}"})


def _json(status: HTTPStatus, view: dict[str, Any], headers: dict[str, str] | None = None) -> Response[str]:
    return Response(int(status), "application/json", msgspec.json.encode(view).decode(), dict(headers or {}))


for kind, respond in ((NotFoundError, unknown_route), (DurableError, refused), (Exception, failed)):
    app.exception_handler(kind)(respond)
