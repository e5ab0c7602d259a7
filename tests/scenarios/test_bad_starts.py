"""Workflows and starts that make no sense are refused at once, and leave nothing behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from durable import (
    Context,
    DuplicateWorkflow,
    ExecutionNotFound,
    InvalidCall,
    InvalidInput,
    InvalidName,
    InvalidState,
    workflow,
)
from durable.testing import Harness


@dataclass
class Line:
    sku: str
    quantity: int


@dataclass
class Order:
    id: str
    lines: list[Line]


@workflow
def order(ctx: Context, order: Order) -> str:
    return order.id


@workflow
def nothing(ctx: Context) -> str:
    return "nothing"


@pytest.mark.rule("E10")
def test_an_input_that_does_not_fit_names_the_field() -> None:
    inputs: dict[str, Any] = {
        "$.lines[1].quantity": Order("a", [Line("x", 1), Line("y", "two")]),
        "$.id": Order(7, []),
        "$": "an order",
    }
    with Harness(workflows=[order]) as durable:
        for path, given in inputs.items():
            with pytest.raises(InvalidInput) as raised:
                durable.start(order, given, execution_id="one")
            assert raised.value.path == path
            assert path in str(raised.value)

        with pytest.raises(ExecutionNotFound):
            durable.get("one")
        assert durable.sent == []


def test_an_input_for_a_workflow_that_takes_none_is_refused() -> None:
    with Harness(workflows=[nothing]) as durable, pytest.raises(InvalidInput, match="'nothing' takes no input"):
        durable.start(nothing, {"id": "a"})


def test_an_input_that_can_not_be_stored_is_refused() -> None:
    @workflow
    def anything(ctx: Context, input: Any) -> None:
        """Takes anything."""

    with Harness(workflows=[anything]) as durable:
        with pytest.raises(InvalidInput, match="can't be stored") as raised:
            durable.start(anything, {"handler": object()})
        assert raised.value.path == "$.handler"
        with pytest.raises(InvalidInput, match=r"at most 64,000,000 can be stored"):
            durable.start(anything, "x" * 64_000_001)


def test_a_bad_id_is_refused() -> None:
    names: list[Any] = ["", "x" * 101, "a/b", "a b", "ü", 7, "a\n"]
    with Harness(workflows=[nothing]) as durable:
        for name in names:
            with pytest.raises(InvalidName, match=r"an execution id is 1 to 100 characters of \[0-9a-zA-Z_\.:-\], not"):
                durable.start(nothing, execution_id=name)
        assert durable.calls == []


def test_an_unknown_execution_is_told() -> None:
    with Harness(workflows=[nothing, order]) as durable:
        with pytest.raises(ExecutionNotFound, match="there is no execution 'nobody'"):
            durable.get("nobody")

        durable.start(nothing, execution_id="one")
        with pytest.raises(ExecutionNotFound, match="is of workflow 'nothing', not 'order'"):
            durable.get(order, "one")


def test_there_is_no_output_before_the_end() -> None:
    with Harness(workflows=[nothing]) as durable:
        execution = durable.start(nothing)

        with pytest.raises(InvalidState, match="is pending: it has no output"):
            _ = execution.output


@pytest.mark.parametrize("name", ["", "x" * 65, "a/b", "a b", 7], ids=repr)
def test_a_bad_name_of_a_workflow_is_refused(name: Any) -> None:
    with pytest.raises(InvalidName, match="a workflow's name is 1 to 64 characters"):

        @workflow(name=name)
        def order(ctx: Context) -> None:
            """Never made."""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"version": 0}, "version is a whole number from 1, not 0"),
        ({"version": "2"}, "version is a whole number from 1, not '2'"),
        ({"version": True}, "version is a whole number from 1, not True"),
        ({"timeout": -1}, "workflow: timeout is negative: -1"),
        ({"timeout": 0}, "workflow: timeout is zero"),
        ({"state": {}}, "state is a class or a function that makes the first document, not {}"),
        ({"on_rollback_failure": "ignore"}, "on_rollback_failure is 'halt' or 'continue', not 'ignore'"),
        ({"drift": "off"}, "drift is 'error', 'warn' or None, not 'off'"),
    ],
    ids=str,
)
def test_bad_options_of_a_workflow_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidCall) as raised:
        workflow(name="bad", **options)(lambda ctx: None)
    assert message in str(raised.value)


async def asynchronous(ctx: Context) -> None:
    """A coroutine."""


def generator(ctx: Context) -> Any:
    yield 1


def no_context() -> None:
    """Takes nothing."""


def two_inputs(ctx: Context, first: int, second: int) -> None:
    """Takes two inputs."""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (asynchronous, "workflow 'asynchronous' is `async def`: a workflow function is plain `def`"),
        (generator, "workflow 'generator' is a generator"),
        (no_context, "workflow 'no_context' takes (ctx) or (ctx, input)"),
        (two_inputs, "put several inputs into one dataclass or dict"),
        (7, "give it a function (ctx) or (ctx, input), not 7"),
    ],
)
def test_a_function_that_can_not_be_a_workflow_is_refused(function: Any, message: str) -> None:
    with pytest.raises(InvalidCall) as raised:
        workflow(name="bad")(function)
    assert message in str(raised.value)


@pytest.mark.rule("D7")
def test_two_workflows_of_one_name_and_version_are_refused() -> None:
    @workflow(name="order")
    def another(ctx: Context) -> None:
        """Has the name of the first."""

    both = r"(?s)'order'.*test_bad_starts\.py:\d+.*test_bad_starts\.py:\d+"
    with pytest.raises(DuplicateWorkflow, match=both), Harness(workflows=[order, another]):
        raise AssertionError("such a deployment is never entered")

    with Harness(workflows=[nothing]) as durable:  # and leaves nothing behind
        execution = durable.start(nothing)
        durable.run()
        assert execution.output == "nothing"
