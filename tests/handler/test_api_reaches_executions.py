"""The HTTP API, where it reaches into an execution: its actions and its queues."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from durable import Action, Context, InvalidInput, workflow
from durable.testing import Harness
from tests.handler.conftest import Ask


@dataclass(frozen=True)
class Line:
    sku: str
    quantity: int


@dataclass
class Cart:
    lines: list[Line] = field(default_factory=list)
    total: Decimal = Decimal(0)


@workflow(state=Cart)
def cart(ctx: Context[Cart]) -> list[Any]:
    question = ctx.queue.next("question", "questions", completable=True)
    answer = ctx.step("think", lambda step: f"{question.body['text']}!")
    question.complete({"answer": answer})
    return [message.body for message in ctx.queue.next_batch("rest", count=9, timeout=600)]


@cart.action
def get_state(action: Action[Cart]) -> Cart:
    return action.state


@cart.action(name="put-in", read_only=False)
def put_in(action: Action[Cart], line: Line, /, price: Decimal, *, times: int = 1) -> int:
    action.state.lines += [line] * times
    action.state.total += price * times
    return len(action.state.lines)


@cart.action
def find(action: Action[Cart], sku: str) -> Line:
    found = [line for line in action.state.lines if line.sku == sku]
    if not found:
        raise InvalidInput(f"there is no {sku} in the cart", "$.sku")
    return found[0]


@cart.action
def broken(action: Action[Cart]) -> None:
    raise KeyError("a secret")


@cart.action
def odd(action: Action[Cart]) -> object:
    return object()


@pytest.fixture
def durable() -> Iterator[Harness]:
    with Harness(workflows=[cart]) as harness:
        harness.start(cart, execution_id="one")
        yield harness


PUT_IN = "/executions/one/actions/put-in"
BOOK = '{"line": {"sku": "book", "quantity": 2}, "price": "9.90"}'

# --- actions ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("E8")
def test_an_action_is_called_by_name_with_its_arguments_by_name(ask: Ask, durable: Harness) -> None:
    assert ask("POST", "/executions/one/actions/get_state") == (200, {"result": {"lines": [], "total": "0"}})
    assert ask("POST", PUT_IN, BOOK) == (200, {"result": 1})
    assert ask("POST", PUT_IN, BOOK[:-1] + ', "times": 2}') == (200, {"result": 3})
    assert ask("POST", "/executions/one/actions/find", '{"sku": "book"}') == (
        200,
        {"result": {"sku": "book", "quantity": 2}},
    )
    assert durable.get(cart, "one").state.total == Decimal("29.70")


@pytest.mark.rule("E8", "E10")
@pytest.mark.parametrize(
    ("path", "body", "status", "problem"),
    [
        (
            PUT_IN,
            '{"line": {"sku": "book", "quantity": "2"}, "price": "1"}',
            400,
            {"field": "$.line.quantity", "message": "Expected `int`, got `str` - at `$.line.quantity`"},
        ),
        (PUT_IN, '{"price": "1"}', 400, {"field": "$.line", "message": "action 'put-in' lacks its argument 'line'"}),
        (
            PUT_IN,
            BOOK[:-1] + ', "colour": "red"}',
            400,
            {
                "field": "$.colour",
                "message": "action 'put-in' has no argument 'colour'; it has: line, price, times",
            },
        ),
        (PUT_IN, "[1]", 400, {"error": "BadRequest", "field": "$"}),
        (PUT_IN, "{no json", 400, {"error": "BadRequest", "field": "$"}),
        ("/executions/one/actions/find", '{"sku": "pen"}', 400, {"message": "there is no pen in the cart"}),
        (
            "/executions/one/actions/take-out",
            None,
            404,
            {
                "error": "ActionNotFound",
                "message": "workflow 'cart' has no action 'take-out'; it has: broken, find, get_state, odd, put-in",
            },
        ),
        ("/executions/two/actions/get_state", None, 404, {"error": "ExecutionNotFound"}),
        ("/executions/one/actions/broken", None, 500, {"error": "InternalError"}),
        ("/executions/one/actions/odd", None, 500, {"error": "InternalError"}),
    ],
)
def test_a_call_that_does_not_fit_says_what_is_wrong_and_does_nothing(
    ask: Ask, durable: Harness, path: str, body: str | None, status: int, problem: dict[str, str]
) -> None:
    code, answer = ask("POST", path, body)
    assert (code, {**answer, **problem}) == (status, answer)
    assert "secret" not in json.dumps(answer)
    assert durable.get(cart, "one").state == Cart()


@pytest.mark.rule("E8")
def test_one_that_changes_a_busy_execution_is_a_conflict_and_one_that_only_reads_is_answered(
    ask: Ask, durable: Harness
) -> None:
    answers: list[tuple[int, Any]] = []

    def meanwhile() -> None:
        answers.append(ask("POST", "/executions/one/actions/get_state"))
        answers.append(ask("POST", PUT_IN, BOOK))

    durable.get("one").send("questions", {"text": "really"})
    durable.faults.in_body(1, meanwhile)
    durable.run(duration=60)

    (read, _), (changed, problem) = answers
    assert (read, changed, problem["error"]) == (200, 409, "ExecutionBusy")


@pytest.mark.rule("E8", "E7")
def test_one_that_changes_what_has_ended_is_a_conflict(ask: Ask, durable: Harness) -> None:
    durable.get("one").terminate()
    code, answer = ask("POST", PUT_IN, BOOK)
    assert (code, answer["error"]) == (409, "InvalidState")
    assert ask("POST", "/executions/one/actions/get_state")[0] == 200


# --- queues ----------------------------------------------------------------------------------------------------------

QUESTIONS = "/executions/one/queues/questions"


def run_while_waiting(durable: Harness) -> None:
    durable.faults.before(1, lambda: durable.run(duration=0), operation="GetItem", by="Api", times=1_000)


@pytest.mark.rule("Q2")
def test_a_message_is_accepted_and_comes_to_the_workflow_once(ask: Ask, durable: Harness) -> None:
    headers = {"idempotency-key": "m-1"}
    accepted = {"id": "one", "queue": "questions", "message_id": "m-1"}
    for _ in range(2):
        assert ask("POST", QUESTIONS, '{"text": "really"}', headers=headers) == (202, accepted)
    ids = {ask("POST", "/executions/one/queues/others", body)[1]["message_id"] for body in ("[1, null]", None, '"x"')}
    durable.run()

    assert (len(ids), durable.get("one").output) == (3, [[1, None], None, "x"])


@pytest.mark.rule("Q3")
def test_whoever_asks_to_wait_gets_the_response(ask: Ask, durable: Harness) -> None:
    run_while_waiting(durable)
    assert ask("POST", QUESTIONS, '{"text": "really"}', query={"wait": "5"}) == (
        200,
        {"response": {"answer": "really!"}},
    )


@pytest.mark.rule("Q3")
def test_whose_wait_is_over_may_ask_again_under_the_same_key(ask: Ask, durable: Harness) -> None:
    headers = {"idempotency-key": "m-1"}
    code, answer = ask("POST", QUESTIONS, '{"text": "really"}', headers=headers, query={"wait": "5"})
    assert (code, answer["error"]) == (409, "ExecutionBusy")
    durable.run()
    assert durable.get("one").status == "completed"
    again = ask("POST", QUESTIONS, '{"text": "really"}', headers=headers, query={"wait": "0"})
    assert again == (200, {"response": {"answer": "really!"}})


@pytest.mark.rule("Q6", "E10")
@pytest.mark.parametrize(
    ("path", "body", "query", "status", "problem"),
    [
        ("/executions/two/queues/questions", "1", {}, 404, {"error": "ExecutionNotFound"}),
        ("/executions/a b/queues/questions", "1", {}, 404, {"error": "ExecutionNotFound"}),
        (QUESTIONS, "{no json", {}, 400, {"error": "BadRequest", "field": "$"}),
        (QUESTIONS, "1", {"wait": "soon"}, 400, {"field": "wait"}),
        (QUESTIONS, "1", {"wait": "-1"}, 400, {"field": "wait"}),
        (QUESTIONS, "1", {"wait": "nan"}, 400, {"field": "wait"}),
        (QUESTIONS, "1", {"wait": "21"}, 400, {"message": "wait is a number of seconds from 0 to 20, not '21'"}),
        (f"/executions/one/queues/{'q' * 129}", "1", {}, 400, {"error": "BadRequest", "field": "queue"}),
        (QUESTIONS, json.dumps("x" * 6_000_000), {}, 413, {"error": "BadRequest", "field": "$"}),
    ],
)
def test_a_message_that_can_not_be_sent_says_why(
    ask: Ask,
    durable: Harness,
    path: str,
    body: str,
    query: dict[str, str],
    status: int,
    problem: dict[str, str],
) -> None:
    code, answer = ask("POST", path, body, query=query)
    assert (code, {**answer, **problem}) == (status, answer)


@pytest.mark.rule("Q6")
def test_a_message_to_what_has_ended_is_a_conflict(ask: Ask, durable: Harness) -> None:
    durable.get("one").terminate()
    code, answer = ask("POST", QUESTIONS, "1")
    assert (code, answer["error"], answer["message"]) == (
        409,
        "InvalidState",
        "execution 'one' is terminated: it takes no messages any more",
    )
