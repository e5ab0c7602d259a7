"""Common mistakes are told where they are made, with what to do."""

from __future__ import annotations

import functools
import importlib
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from durable import (
    Break,
    Context,
    Continue,
    DuplicateWorkflow,
    ErrorInfo,
    InvalidCall,
    InvalidInput,
    Step,
    workflow,
)
from durable.testing import Harness


@dataclass
class Order:
    id: str
    amount: float = 0.0


@workflow
def pay(ctx: Context, order: Order) -> str:
    return ctx.step("pay", lambda step: order.id)


@workflow
def ping(ctx: Context) -> str:
    return "pong"


# --- what can't be stored ---------------------------------------------------------------------------------------------


@pytest.mark.rule("F1")
def test_an_error_as_data_can_be_returned() -> None:
    @workflow
    def order(ctx: Context) -> list[Any]:
        failure = ctx.try_step("pay", lambda step: object()).failure
        return [failure.error, ErrorInfo("Mine", "without details")]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output[1] == ErrorInfo("Mine", "without details")
        assert execution.output[0].type == "CodecError"


@pytest.mark.rule("S12")
def test_what_the_library_hands_out_says_what_of_it_can_be_returned() -> None:
    told: list[str] = []

    def return_execution(step: Step) -> Any:
        return step.client.get(step.execution_id)

    @workflow
    def order(ctx: Context) -> None:
        message = ctx.queue.next("wait", "questions")
        for body in (return_execution, lambda step: step, lambda step: ctx, lambda step: message):
            told.append(ctx.try_step("try", body).failure.error.message.partition("stored. ")[2])

    with Harness(workflows=[order], steps_per_invocation=9) as durable:
        durable.start(order).send("questions", 1)
        durable.run()

    assert told == [
        "Return its .id.",
        "Return what the step has done, and not the step.",
        "Return what the workflow needs, and not its context.",
        "Return its .body.",
    ]


# --- calls ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda client: client.start("pay", Order("a")),
            "start takes the workflow itself, not 'pay': client.start(pay, ...). By its name: client.start_named('pay', ...)",
        ),
        (
            lambda client: client.start(pay.run, Order("a")),
            "mistakes.pay is a plain function: decorate it with @workflow",
        ),
        (lambda client: client.start(None), "start takes the workflow itself, not None"),
        (lambda client: client.get("pay", "one"), "get takes the workflow itself, not 'pay': client.get(pay, ...)"),
        (lambda client: client.get(pay), "get takes an execution's id: client.get(pay, execution_id)"),
        (lambda client: client.get("one", pay), "get takes the workflow itself, not 'one'"),
    ],
)
def test_a_client_s_call_says_how_it_is_meant(call: Callable[[Any], object], message: str) -> None:
    with Harness(workflows=[pay, ping]) as durable:
        durable.start(ping, execution_id="one")
        with pytest.raises(InvalidCall) as raised:
            call(durable)

    assert message in str(raised.value)


def test_a_workflow_can_be_called_with_a_context_as_a_plain_function() -> None:
    @workflow
    def outer(ctx: Context) -> list[str]:
        return [pay(ctx, Order("a")), ping(ctx), ping(ctx, None)]

    with Harness(workflows=[outer]) as durable:
        execution = durable.start(outer)
        durable.run()

        assert execution.output == ["a", "pong", "pong"]


@pytest.mark.rule("E10")
@pytest.mark.parametrize(
    ("given", "message", "path"),
    [
        (
            {"id": "a"},
            "the input of workflow 'pay' does not fit: Expected `Order`, got `dict` - at `$`. Plain JSON starts it by name: "
            "client.start_named('pay', ...)",
            "$",
        ),
        (Order(7), "the input of workflow 'pay' does not fit: Expected `str`, got `int` - at `$.id`", "$.id"),
        (3, "the input of workflow 'pay' does not fit: Expected `Order`, got `int` - at `$`", "$"),
    ],
)
def test_an_input_that_does_not_fit_names_the_workflow(given: Any, message: str, path: str) -> None:
    with Harness(workflows=[pay]) as durable:
        with pytest.raises(InvalidInput) as raised:
            durable.start(pay, given)

        assert (str(raised.value), raised.value.path) == (message, path)


def charge(step: Step, amount: int, currency: str = "EUR") -> str:
    return f"{amount} {currency}"


@pytest.mark.parametrize("call", ["step", "try_step"])
def test_a_keyword_for_a_body_says_how_it_is_bound(call: str) -> None:
    @workflow
    def order(ctx: Context) -> list[str]:
        told = []
        for options in ({"currency": "USD"}, {"retires": 3, "amount": 4}):
            try:
                getattr(ctx, call)("charge", charge, 10, **options)
            except InvalidCall as error:
                told.append(str(error))
        return [*told, ctx.step("after", functools.partial(charge, currency="USD"), 10)]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        why = (
            "what is given by keyword is for the step, and never reaches its body. Pass the body's arguments by position, or "
            "bind them: "
        )
        options = "rollback, returns, retry, timeout, rollback_retry, rollback_timeout, semantics, sensitive"
        assert execution.output == [
            f"step 'charge' has no option 'currency': {why}functools.partial(charge, currency=...). The options are {options}.",
            f"step 'charge#2' has no option 'amount' or 'retires': {why}functools.partial(charge, amount=..., retires=...). The "
            f"options are {options}.",
            "10 USD",
        ]


# --- workflows --------------------------------------------------------------------------------------------------------


def test_one_that_returns_a_coroutine_all_the_same_says_so() -> None:
    async def later() -> int:
        return 1

    @workflow
    def order(ctx: Context) -> Any:
        return later()

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type) == ("failed", "InvalidCall")
        assert execution.error.message.startswith("workflow 'order' returned a coroutine: a workflow function is plain")


def test_a_static_method_and_a_bound_method_are_functions() -> None:
    class Shop:
        @workflow
        @staticmethod
        def order(ctx: Context) -> str:
            return "static"

        def bound(self, ctx: Context) -> str:
            return "bound"

    bound = workflow(name="bound")(Shop().bound)
    with Harness(workflows=[Shop.order, bound]) as durable:
        executions = [durable.start(Shop.order), durable.start(bound)]
        durable.run()

        assert [execution.output for execution in executions] == ["static", "bound"]


@pytest.fixture
def shop_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "shop_of_mistakes.py").write_text(
        "from durable import Context, workflow\n@workflow\ndef buy(ctx: Context) -> None: ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield importlib.import_module("shop_of_mistakes")
    del sys.modules["shop_of_mistakes"]


@pytest.mark.rule("D7")
def test_a_workflow_of_a_module_that_was_loaded_twice_says_so(shop_module: Any, tmp_path: Path) -> None:
    first = shop_module.buy
    second = importlib.reload(shop_module).buy

    with pytest.raises(DuplicateWorkflow) as raised, Harness(workflows=[first, second]):
        raise AssertionError("never entered")

    assert str(raised.value) == (
        f"workflow 'buy' version 1 is here twice, from one place: {tmp_path}/shop_of_mistakes.py:2. Its module was loaded "
        "twice (reloaded, or imported under two names: shop_of_mistakes): import it once, and pass one of them."
    )


# --- logs -------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("D12")
@pytest.mark.parametrize("where", ["workflow", "step", "rollback"])
def test_a_field_of_a_log_line_may_have_any_name(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    reserved = {
        name: name.upper()
        for name in (
            "name",
            "msg",
            "args",
            "message",
            "asctime",
            "module",
            "lineno",
            "exc_info",
            "levelname",
            "taskName",
        )
    }

    @workflow
    def order(ctx: Context) -> None:
        def log(log: Any) -> None:
            log.info("hello %s", "you", extra={**reserved, "order": 7})
            log.warning("no fields", extra=None)

        if where == "workflow":
            log(ctx.log)
        ctx.step(
            "a",
            lambda step: log(step.log) if where == "step" else None,
            rollback=lambda undo: log(undo.log) if where == "rollback" else None,
        )
        if where == "rollback":
            raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()
        assert execution.status == ("failed" if where == "rollback" else "completed")
        assert execution.rollback.outcome == ("completed" if where == "rollback" else "none")

    written = capsys.readouterr().out
    (line,) = [line for line in written.splitlines() if "hello you" in line]
    assert '"order":7' in line
    assert all(f'"{name}_":"{value}"' in line for name, value in reserved.items())
    assert "no fields" in written


@pytest.mark.rule("D12")
def test_a_line_with_a_lone_surrogate_is_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("durable"), "propagate", False)  # pytest-xdist can't send such a line

    @workflow
    def order(ctx: Context) -> None:
        ctx.log.info("file \udce4.txt", extra={"path": "\udce4"})

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()
        assert execution.status == "completed"

    captured = capsys.readouterr()
    assert "file ?.txt" in captured.out
    assert "Logging error" not in captured.err


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("L1")
@pytest.mark.parametrize("steps", [1, 50])
def test_a_loop_started_when_it_began_and_ended_when_it_ended(steps: int) -> None:
    def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.sleep("pause", 60)
        return Break(number) if number == 2 else Continue(number + 1)

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("before", lambda step: durable.clock.advance(30))
        ctx.loop("turns", turn, state=0)

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        began = durable.clock.moment
        execution = durable.start(order)
        durable.run()

        (loop,) = [entry for entry in execution.history if entry.kind == "loop"]
        assert loop.ended_at is not None
        seconds = [round((moment - began).total_seconds()) for moment in (loop.started_at, loop.ended_at)]
        assert seconds == [30, 210]
