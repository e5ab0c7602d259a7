"""A value that raises while it is encoded is refused by name where it was given, once, and what was done is rolled back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from durable import Break, CodecError, Context, Continue, Execution, Retry, Step, Undo
from durable.testing import Harness
from tests.scenarios.code import Code
from tests.scenarios.hostile import VALUES

pytestmark = pytest.mark.rule("D14", "S12", "R13")

each_value = pytest.mark.parametrize("make", VALUES.values(), ids=VALUES.keys())
undone: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    undone.clear()


def reserve(step: Step) -> str:
    return step.path


def undo(undo: Undo[str]) -> None:
    undone.append(undo.path)


def strange(durable: Harness) -> list[str]:
    return [each.function for each in durable.invocations if each.failed or each.function == "DeadLetters"]


def outcome(durable: Harness, execution: Execution[Any, Any]) -> tuple[object, ...]:
    return (execution.status, execution.error.type, execution.rollback.outcome, undone, strange(durable))


REFUSED = ("failed", "CodecError", "completed", ["reserve"], [])


def ran(rest: Callable[[Context], object], message: object = None, **options: Any) -> tuple[object, ...]:
    """The outcome of a workflow that reserves, and then does the rest."""

    def order(ctx: Context) -> object:
        ctx.step("reserve", reserve, rollback=undo)
        return rest(ctx)

    code = Code(order, **options)
    with Harness(workflows=[code.workflow], store="local") as durable:
        execution = durable.start(code.workflow)
        if message is not None:
            execution.send("inbox", message)
        durable.run()
        assert durable.faults.bodies.count("charge") <= 1
        return outcome(durable, execution)


@each_value
@pytest.mark.parametrize("annotated", [False, True])
def test_as_the_result_of_a_step(make: Callable[[], object], annotated: bool) -> None:
    def charge(step: Step) -> Any:
        return make()

    if annotated:
        charge.__annotations__["return"] = object
    assert ran(lambda ctx: ctx.step("charge", charge)) == REFUSED


@each_value
@pytest.mark.rule("F1")
def test_as_the_result_of_a_tried_step(make: Callable[[], object]) -> None:
    kinds: list[tuple[str, str]] = []

    def rest(ctx: Context) -> None:
        failure = ctx.try_step("charge", lambda step: make()).failure
        ctx.sleep("pause", 60)
        kinds.append((failure.kind, failure.error.type))
        raise ValueError("no charge")

    assert ran(rest) == ("failed", "ValueError", *REFUSED[2:])
    assert kinds[0] == ("critical", "CodecError")


@each_value
def test_as_the_output_of_the_workflow(make: Callable[[], object]) -> None:
    assert ran(lambda ctx: make()) == REFUSED


@each_value
@pytest.mark.rule("L1")
def test_as_the_first_state_of_a_loop(make: Callable[[], object]) -> None:
    assert ran(lambda ctx: ctx.loop("loop", lambda ctx, state: Break(None), state=make())) == REFUSED


@each_value
@pytest.mark.rule("L1")
def test_as_the_next_state_of_a_loop(make: Callable[[], object]) -> None:
    def turn(ctx: Context, state: object) -> Continue[object]:
        ctx.step("turn", reserve)
        return Continue(make())

    assert ran(lambda ctx: ctx.loop("loop", turn, state=None)) == REFUSED


@each_value
@pytest.mark.rule("L1")
def test_as_what_a_loop_breaks_with(make: Callable[[], object]) -> None:
    assert ran(lambda ctx: ctx.loop("loop", lambda ctx: Break(make()))) == REFUSED


@each_value
@pytest.mark.rule("Q3")
def test_as_the_response_to_a_message(make: Callable[[], object]) -> None:
    def rest(ctx: Context) -> None:
        message = ctx.queue.next("ask", "inbox", completable=True)
        message.complete(make())

    assert ran(rest, "a question") == REFUSED


@each_value
@pytest.mark.rule("Q3")
def test_a_refused_response_can_be_mended_by_the_code(make: Callable[[], object]) -> None:
    def rest(ctx: Context) -> str:
        message = ctx.queue.next("ask", "inbox", completable=True)
        try:
            message.complete(make())
        except CodecError:
            message.complete("a plain answer")
        ctx.sleep("pause", 60)
        raise ValueError("answered")

    assert ran(rest, "a question") == ("failed", "ValueError", *REFUSED[2:])


@each_value
@pytest.mark.rule("S8")
def test_in_the_state_document(make: Callable[[], object]) -> None:
    def charge(step: Step[dict[str, Any]]) -> str:
        step.state["charged"] = make()
        return "charged"

    assert ran(lambda ctx: ctx.step("charge", charge), state=dict) == REFUSED


@each_value
@pytest.mark.rule("S8")
def test_in_the_state_document_of_an_attempt_that_failed(make: Callable[[], object]) -> None:
    """The step's own error stays; the document that can't be stored is left as it was."""

    def charge(step: Step[dict[str, Any]]) -> str:
        step.state["charged"] = make()
        raise PermissionError("declined")

    assert ran(lambda ctx: ctx.step("charge", charge, retry=Retry(0)), state=dict) == (
        "failed",
        "PermissionError",
        *REFUSED[2:],
    )


@each_value
def test_as_what_a_rollback_returns_it_is_not_looked_at(make: Callable[[], object]) -> None:
    def give_back(undo: Any) -> object:
        undone.append(undo.path)
        return make()

    def rest(ctx: Context) -> None:
        ctx.step("ship", reserve, rollback=give_back)
        raise ValueError("sold out")

    assert ran(rest) == ("failed", "ValueError", "completed", ["ship", "reserve"], [])
