"""The HTTP API, with the payload that API Gateway sends (format 2.0)."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from durable.testing.harness import Harness
from tests.handler.conftest import Ask
from tests.handler.workflows import Line, Order, checkout

INPUT = '{"lines": [{"sku": "a", "quantity": 1}], "total": "12.50"}'
ORDER = Order([Line("a", 1)], Decimal("12.50"))


# --- start -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("E2")
def test_a_recorded_request_starts_an_execution_whose_id_is_its_idempotency_key(
    durable: Harness, recorded: Callable[[str], Any]
) -> None:
    first = durable.invoke("Api", recorded("http")).answer
    assert (first["statusCode"], first["headers"]["location"]) == (202, "/executions/order-1")
    assert json.loads(first["body"]) == {"id": "order-1", "workflow": "checkout", "version": 1, "status": "pending"}
    durable.run()
    again = durable.invoke("Api", recorded("http")).answer
    assert (again["statusCode"], json.loads(again["body"])["status"]) == (202, "completed")
    assert durable.faults.bodies == ["reserve", "charge"]


def test_without_a_key_each_request_is_an_execution_of_its_own(ask: Ask) -> None:
    ids = {ask("POST", "/workflows/ping/executions")[1]["id"] for _ in range(2)}
    assert len(ids) == 2


def test_a_version_can_be_asked_for(ask: Ask) -> None:
    path = "/workflows/ping/executions"
    assert ask("POST", path, query={"version": "1"})[1]["version"] == 1
    assert ask("POST", path, query={"version": "2"}) == (
        404,
        {"error": "WorkflowNotFound", "message": "workflow 'ping' has no version 2 here; registered: 1"},
    )
    assert ask("POST", path, query={"version": "newest"}) == (
        400,
        {"error": "BadRequest", "message": "version is a whole number, not 'newest'", "field": "version"},
    )


def test_a_body_may_be_base64(ask: Ask, durable: Harness) -> None:
    body = base64.b64encode(INPUT.encode()).decode()
    headers = {"idempotency-key": "order-1"}
    assert ask("POST", "/workflows/checkout/executions", body, headers=headers, encoded=True)[0] == 202
    durable.run()
    assert durable.get(checkout, "order-1").output == {"total": Decimal("12.50")}


@pytest.mark.rule("E10")
@pytest.mark.parametrize(
    ("path", "body", "status", "problem"),
    [
        (
            "/workflows/checkout/executions",
            '{"lines": [{"sku": "a", "quantity": "1"}]}',
            400,
            {
                "error": "InvalidInput",
                "message": "Expected `int`, got `str` - at `$.lines[0].quantity`",
                "field": "$.lines[0].quantity",
            },
        ),
        (
            "/workflows/checkout/executions",
            "{no json",
            400,
            {"error": "InvalidInput", "field": "$"},
        ),
        ("/workflows/checkout/executions", None, 400, {"error": "InvalidInput", "field": "$"}),
        ("/workflows/ping/executions", "1", 400, {"error": "InvalidInput", "field": "$"}),
        (
            "/workflows/png/executions",
            "1",
            404,
            {"error": "WorkflowNotFound", "message": "no workflow is called 'png' here; registered: checkout, ping"},
        ),
    ],
)
def test_a_start_that_does_not_fit_names_the_field(
    ask: Ask, path: str, body: str | None, status: int, problem: dict[str, str]
) -> None:
    code, answer = ask("POST", path, body)
    assert code == status
    assert answer == {"message": answer["message"], **problem}


@pytest.mark.rule("E10", "E2")
def test_a_key_that_was_used_with_another_input_is_a_conflict(ask: Ask) -> None:
    headers = {"idempotency-key": "order-1"}
    ask("POST", "/workflows/checkout/executions", INPUT, headers=headers)
    assert ask("POST", "/workflows/checkout/executions", '{"lines": []}', headers=headers) == (
        409,
        {"error": "AlreadyStarted", "message": "execution 'order-1' was started before, with another input"},
    )


@pytest.mark.rule("E10")
@pytest.mark.parametrize("key", ["a b", "x" * 101, "order/1"])
def test_a_key_that_is_no_id_is_told_so(ask: Ask, key: str) -> None:
    code, answer = ask("POST", "/workflows/ping/executions", headers={"idempotency-key": key})
    assert (code, answer["error"], answer["field"]) == (400, "InvalidName", "Idempotency-Key")


@pytest.mark.rule("E10")
def test_a_body_that_can_not_be_stored_is_too_large(ask: Ask) -> None:
    code, answer = ask("POST", "/workflows/checkout/executions", json.dumps("x" * 300_000))
    assert (code, answer["error"], answer["field"]) == (413, "BadRequest", "$")
    assert answer["message"].startswith("the body is 300,002 bytes; at most 300,000 can be stored.")


@pytest.mark.rule("E10")
@pytest.mark.parametrize("body", ["%%%", base64.b64encode(b"\xff\xfe").decode()])
def test_a_body_that_is_no_text_is_told_so(ask: Ask, body: str) -> None:
    assert ask("POST", "/workflows/checkout/executions", body, encoded=True) == (
        400,
        {"error": "BadRequest", "message": "the body is not UTF-8 text", "field": "$"},
    )


# --- look ------------------------------------------------------------------------------------------------------------


def test_an_execution_shows_its_end(ask: Ask, durable: Harness) -> None:
    durable.start(checkout, ORDER, execution_id="order-1")
    durable.run()
    assert ask("GET", "/executions/order-1") == (
        200,
        {
            "id": "order-1",
            "workflow": "checkout",
            "version": 1,
            "status": "completed",
            "created_at": "2030-01-01T00:00:00+00:00",
            "ended_at": "2030-01-01T00:10:00+00:00",
            "output": {"total": "12.50"},
            "error": None,
            "state": {"seen": ["a"]},
            "rollback": {"outcome": "none", "error": None, "failed": {}, "not_run": []},
        },
    )


@pytest.mark.rule("R11")
def test_a_failed_execution_shows_its_error_and_its_rollback(ask: Ask, durable: Harness) -> None:
    durable.start(checkout, Order([Line("a", 1)], Decimal("-1")), execution_id="order-1")
    durable.run()
    _, answer = ask("GET", "/executions/order-1")
    assert (answer["status"], answer["output"], answer["rollback"]["outcome"]) == ("failed", None, "completed")
    details = {"step": "charge", "kind": "critical", "attempts": 1}
    assert answer["error"] == {"type": "TerminalError", "message": "the card was declined", "details": details}


@pytest.mark.rule("S15")
def test_a_history_shows_every_entry_and_hides_what_is_sensitive(ask: Ask, durable: Harness) -> None:
    durable.start(checkout, ORDER, execution_id="order-1")
    durable.run(duration=60)
    code, answer = ask("GET", "/executions/order-1/history")
    reserve, charge, sleep = answer["history"]
    assert (code, answer["id"]) == (200, "order-1")
    assert reserve == {
        "path": "reserve",
        "kind": "step",
        "status": "completed",
        "attempts": 1,
        "output": "reserved 1",
        "error": None,
        "started_at": "2030-01-01T00:00:00+00:00",
        "ended_at": "2030-01-01T00:00:00+00:00",
    }
    assert (charge["path"], charge["output"]) == ("charge", "[redacted]")
    assert (sleep["kind"], sleep["status"], sleep["ended_at"]) == ("sleep", "waiting", None)


def test_an_execution_is_looked_at_once(ask: Ask, durable: Harness) -> None:
    durable.start(checkout, ORDER, execution_id="order-1")
    made = len(durable.calls)
    ask("GET", "/executions/order-1")
    assert [call.operation for call in durable.calls[made:]] == ["GetItem"]


@pytest.mark.rule("E10", "E9")
def test_an_execution_that_has_expired_is_gone(ask: Ask, durable: Harness) -> None:
    durable.start(checkout, ORDER, execution_id="order-1")
    durable.run()
    durable.clock.advance(31 * 86_400)
    assert ask("GET", "/executions/order-1")[0] == 404


@pytest.mark.rule("E10")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/executions/order-9"),
        ("GET", "/executions/order-9/history"),
        ("GET", f"/executions/{'x' * 3_000}"),
        ("POST", "/executions/order-9/cancel"),
        ("POST", "/executions/order-9/terminate"),
        ("POST", "/executions/order-9/pause"),
        ("POST", "/executions/order-9/resume"),
    ],
)
def test_an_unknown_execution_is_not_found(ask: Ask, method: str, path: str) -> None:
    code, answer = ask(method, path)
    assert (code, answer["error"]) == (404, "ExecutionNotFound")


@pytest.mark.rule("E10")
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/"), ("GET", "/workflows/ping/executions"), ("DELETE", "/executions/order-1")]
)
def test_an_unknown_path_says_what_is_not_there(ask: Ask, method: str, path: str) -> None:
    assert ask(method, path) == (404, {"error": "NotFound", "message": f"there is no {method} {path} here"})


# --- verbs -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("R12")
@pytest.mark.parametrize(
    ("body", "seen"),
    [(None, ["a", "released"]), ('{"rollback": true}', ["a", "released"]), ('{"rollback": false}', ["a"])],
)
def test_cancelling_rolls_back_unless_it_is_told_not_to(
    ask: Ask, durable: Harness, body: str | None, seen: list[str]
) -> None:
    execution = durable.start(checkout, ORDER, execution_id="order-1")
    durable.run(duration=60)
    assert ask("POST", "/executions/order-1/cancel", body)[1]["status"] == "cancelling"
    durable.run()
    assert (execution.status, execution.state.seen) == ("cancelled", seen)


@pytest.mark.rule("E7")
def test_an_execution_is_paused_resumed_and_terminated(ask: Ask, durable: Harness) -> None:
    durable.start(checkout, ORDER, execution_id="order-1")
    durable.run(duration=60)
    for verb, status in [("pause", "paused"), ("resume", "waiting"), ("terminate", "terminated")]:
        code, answer = ask("POST", f"/executions/order-1/{verb}")
        assert (code, answer) == (202, {"id": "order-1", "workflow": "checkout", "version": 1, "status": status})


@pytest.mark.rule("E7", "E10")
def test_a_verb_that_makes_no_sense_is_a_conflict(ask: Ask, durable: Harness) -> None:
    durable.start(checkout, ORDER, execution_id="order-1")
    durable.run()
    for verb in ("cancel", "terminate", "pause", "resume"):
        code, answer = ask("POST", f"/executions/order-1/{verb}")
        assert (code, answer["error"]) == (409, "InvalidState")
        assert answer["message"].startswith("execution 'order-1' is completed")


@pytest.mark.rule("E10")
@pytest.mark.parametrize(
    ("verb", "body", "message", "field"),
    [
        ("cancel", '{"rollback": "no"}', "Expected `bool`, got `str`", "$.rollback"),
        ("cancel", '{"rolback": false}', "Object contains unknown field `rolback`", "$"),
        ("cancel", "[]", "Expected `object`, got `array`", "$"),
        ("pause", '{"until": 1}', "Object contains unknown field `until`", "$"),
        ("resume", "{", "Input data was truncated", "$"),
    ],
)
def test_a_verb_with_a_body_that_does_not_fit_names_the_field_and_does_nothing(
    ask: Ask, durable: Harness, verb: str, body: str, message: str, field: str
) -> None:
    execution = durable.start(checkout, ORDER, execution_id="order-1")
    problem = {"error": "BadRequest", "message": message, "field": field}
    assert ask("POST", f"/executions/order-1/{verb}", body) == (400, problem)
    assert execution.status == "pending"


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("D9", "E10")
def test_a_table_out_of_reach_is_for_a_while_and_its_name_stays_here(ask: Ask, durable: Harness) -> None:
    durable.faults.before(1, durable.faults.refuse("ResourceNotFoundException", "arn:secret"), operation="GetItem")
    code, answer = ask("GET", "/executions/order-1")
    assert (code, answer["error"]) == (503, "StoreError")
    assert "secret" not in answer["message"]


@pytest.mark.rule("E10")
def test_a_fault_of_ours_is_in_the_log_and_not_in_the_answer(
    ask: Ask, durable: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise LookupError("no such row")

    durable.faults.before(1, fail, operation="GetItem")
    assert ask("GET", "/executions/order-1") == (
        500,
        {"error": "InternalError", "message": "the request failed; the function's log has the reason"},
    )
    assert "no such row" in caplog.text
