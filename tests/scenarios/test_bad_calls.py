"""Calls that make no sense are refused where they stand, by a typed error that says what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from durable import Context, Continue, InvalidCall, Queue, Step, Undo, workflow
from durable.testing import Harness


def body(step: Step) -> None:
    """A good body."""


CALLS: list[tuple[Any, str]] = [
    (lambda ctx: ctx.step("s", 5), "the body is not callable: 5. Pass the function, not the result"),
    (lambda ctx: ctx.step("s", body, rollback="undo"), "rollback is not callable: 'undo'."),
    (lambda ctx: ctx.step("s", body, timeout=-1), "timeout is negative: -1"),
    (lambda ctx: ctx.step("s", body, timeout=0), "timeout is zero: give a positive duration, or None"),
    (
        lambda ctx: ctx.step("s", body, timeout="5"),
        "timeout is a timedelta or a number of seconds, not str",
    ),
    (lambda ctx: ctx.step("s", body, timeout=float("nan")), "timeout is nan"),
    (lambda ctx: ctx.step("s", body, rollback_timeout=-1), "rollback_timeout is negative: -1"),
    (lambda ctx: ctx.step("s", body, retry=3), "retry is a Retry, not 3: write retry=Retry(3)"),
    (lambda ctx: ctx.step("s", body, rollback_retry=3), "rollback_retry is a Retry, not 3"),
    (lambda ctx: ctx.step("s", body, semantics="exactly_once"), "semantics is 'at_least_once' or 'at_most_once'"),
    (lambda ctx: ctx.try_step("s", body, timeout=-1), "timeout is negative: -1"),
    (lambda ctx: ctx.try_step("s", body, catch="exhausted"), "write catch=['exhausted']"),
    (lambda ctx: ctx.step("s", body, returns=3), "returns is a type, such as Order or list[Order], not 3"),
    (lambda ctx: ctx.step("s", body, returns="Order"), "returns is a type, such as Order or list[Order], not 'Order'"),
    (lambda ctx: ctx.queue.next("s", "q", body=3), "queue wait 's': body is a type, such as Order"),
    (lambda ctx: ctx.queue.next("s", Queue("q", "Order")), "queue 'q': body is a type, such as Order"),
    (lambda ctx: ctx.sleep("s", -5), "sleep 's': the duration is negative: -5"),
    (lambda ctx: ctx.sleep("s", timedelta(seconds=-5)), "sleep 's': the duration is negative"),
    (
        lambda ctx: ctx.sleep("s", None),
        "sleep 's': the duration is a timedelta or a number of seconds, not NoneType",
    ),
    (lambda ctx: ctx.sleep("s", float("inf")), "sleep 's': the duration is inf"),
    (lambda ctx: ctx.sleep("s", 10**12), "is more than 3,000 years; durations are in seconds"),
    (lambda ctx: ctx.sleep_until("s", datetime(2030, 1, 2)), "the moment is a datetime with a time zone, not"),
    (lambda ctx: ctx.sleep_until("s", "tomorrow"), "the moment is a datetime with a time zone, not 'tomorrow'"),
]


def test_a_bad_call_is_refused_where_it_stands() -> None:
    raised: list[InvalidCall] = []

    @workflow
    def order(ctx: Context) -> str:
        for call, _ in CALLS:
            try:
                call(ctx)
            except InvalidCall as error:
                raised.append(error)
        return "went on"

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert [
            (message, str(error))
            for (_, message), error in zip(CALLS, raised, strict=True)
            if message not in str(error)
        ] == []
        assert (execution.output, execution.history, durable.faults.bodies) == ("went on", [], [])


def mistaken(undo: Undo) -> None:
    """A rollback that lacks the argument of the call."""


MORE: list[Any] = [
    lambda ctx: ctx.step("s", lambda step, amount: None, 10, rollback=mistaken),
    lambda ctx: ctx.try_step("s", lambda step, amount: None, 10, rollback=mistaken),
    lambda ctx: ctx.try_block("s", body, catch="critical"),
    lambda ctx: ctx.loop("s", lambda ctx: "neither"),
    lambda ctx: ctx.loop("s", body, keep=-1),
    lambda ctx: ctx.loop("s", lambda ctx: Continue(1)),
    lambda ctx: ctx.queue.next("s", [], timeout=0),
    lambda ctx: ctx.queue.next("s", 3, timeout=0),
    lambda ctx: ctx.queue.next("s", [Queue("q", int)], timeout=0),
    lambda ctx: ctx.queue.next("s", Queue("q", int), body=str, timeout=0),
    lambda ctx: ctx.queue.next_batch("s", count=0),
    lambda ctx: ctx.wait_for("s", body, every=0),
    lambda ctx: ctx.version("s", 0),
    lambda ctx: ctx.removed("s", "nothing"),
]


@pytest.mark.rule("D6", "D2")
@pytest.mark.parametrize("undoes", [False, True])
def test_one_that_is_caught_leaves_no_trace_and_is_refused_again_by_every_replay(undoes: bool) -> None:
    refused: list[int] = []
    undone: list[str] = []

    @workflow
    def order(ctx: Context) -> int:
        refused.clear()
        for number, call in enumerate([*(call for call, _ in CALLS), *MORE]):
            try:
                call(ctx)
            except InvalidCall:
                refused.append(number)
            ctx.step("after", body, rollback=lambda undo: undone.append(undo.path))
        if undoes:
            raise ValueError("sold out")
        return len(refused)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        count = len(CALLS) + len(MORE)
        steps = ["after", *(f"after#{number}" for number in range(2, count + 1))]
        assert (execution.status, refused) == ("failed" if undoes else "completed", list(range(count)))
        assert [entry.path for entry in execution.history if entry.kind != "rollback"] == steps
        assert undone == (steps[::-1] if undoes else [])


def test_an_uncaught_one_fails_the_execution_and_rolls_back() -> None:
    undone: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("reserve", body, rollback=lambda undo: undone.append(undo.name))
        ctx.step("charge", body, timeout=-1)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type, undone) == ("failed", "InvalidCall", ["reserve"])


def no_step() -> None:
    """A body that does not take its Step."""


def two(step: Step, first: int, second: int) -> None:
    """A body with two arguments."""


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (no_step, (), "step 'charge': no_step() -> 'None' can't be called with the Step and 0 arguments"),
        (two, (1,), "can't be called with the Step and 1 argument: missing a required argument: 'second'"),
        (two, (1, 2, 3), "can't be called with the Step and 3 arguments: too many positional arguments"),
    ],
)
def test_a_body_that_can_not_take_the_arguments_fails_its_step_for_good(
    function: Any, arguments: tuple[int, ...], message: str
) -> None:
    @workflow
    def order(ctx: Context) -> list[Any]:
        failure = ctx.try_step("charge", function, *arguments).failure
        return [failure.kind, failure.attempts, failure.error.type, failure.error.message]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        kind, attempts, type_, told = execution.output
        assert (kind, attempts, type_) == ("critical", 1, "InvalidCall")
        assert message in told
        assert "It gets the Step first, then the arguments of the call." in told


def test_a_moment_in_the_past_is_no_mistake() -> None:
    @workflow
    def order(ctx: Context) -> str:
        ctx.sleep_until("past", datetime(2020, 1, 1, tzinfo=UTC))
        ctx.sleep("no time", 0)
        return "at once"

    with Harness(workflows=[order]) as durable:
        before = durable.clock.now()
        execution = durable.start(order)
        durable.run()

        assert (execution.output, durable.clock.now(), len(durable.invocations)) == ("at once", before, 1)


def test_a_rollback_that_can_not_take_the_arguments_is_found_before_it_is_needed() -> None:
    bodies: list[str] = []

    def undo(undo: Undo) -> None:
        """It lacks the argument of the call."""

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", lambda step, amount: bodies.append("charge"), 10, rollback=undo)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type, bodies) == ("failed", "InvalidCall", [])
        assert "the rollback of step 'charge'" in execution.error.message
        assert "can't be called with the Undo and 1 argument" in execution.error.message
