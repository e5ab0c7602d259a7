"""Objects of the user's that raise when they are looked at fail their step, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from durable import Break, CodecError, Context, Continue, ErrorInfo, Failure, Retry, Step, Undo, workflow
from durable.testing import Harness
from tests import hostile

pytestmark = pytest.mark.rule("D14")

ONCE = Retry(0)


def test_an_error_that_can_not_be_described_fails_its_step_and_is_recorded() -> None:
    seen: dict[str, list[Any]] = {name: [] for name in hostile.ERRORS}

    def refuse(step: Step, name: str) -> None:
        raise hostile.ERRORS[name]()

    @workflow
    def order(ctx: Context) -> int:
        for name in hostile.ERRORS:
            seen[name].append(ctx.try_step("refuse", refuse, name, retry=ONCE))
        ctx.sleep("pause", 60)
        return len(seen)

    with Harness(workflows=[order], steps_per_invocation=1000) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", len(hostile.ERRORS))
        assert durable.faults.bodies.count("refuse") == 1
        assert len(durable.faults.bodies) == len(hostile.ERRORS)
    for name, results in seen.items():
        first, replayed = results[0], results[-1]
        assert isinstance(first, Failure), name
        assert (len(results) > 1, first) == (True, replayed), name
        cls = "ValueError" if "group" in name else type(hostile.ERRORS[name]()).__name__
        assert first.error.type == (cls if len(cls) <= 200 else cls[:200] + "…"), name
        assert len(first.error.message) < 3_000, name


def test_what_can_be_told_of_such_an_error_is_told() -> None:
    told: dict[str, ErrorInfo] = {}
    errors: dict[str, Callable[[], Exception]] = {
        "number": lambda: hostile.Attributes.odd({404: "not found", "code": "declined"}),
        "surrogate": lambda: hostile.Attributes(code="\ud800 declined"),
        "text": lambda: hostile.Attributes(code=hostile.LoudText("declined")),
        "numbers": lambda: hostile.Attributes(code=hostile.LoudNumber(7), part=hostile.LoudFloat(0.5)),
        "message": hostile.TextOfItsOwn,
    }

    def refuse(step: Step, name: str) -> None:
        raise errors[name]()

    @workflow
    def order(ctx: Context) -> None:
        for name in errors:
            told[name] = ctx.try_step("refuse", refuse, name, retry=ONCE).failure.error

    with Harness(workflows=[order], steps_per_invocation=100) as durable:
        durable.start(order)
        durable.run()

    assert told == {
        "number": ErrorInfo("Attributes", "refused", {"code": "declined"}),
        "surrogate": ErrorInfo("Attributes", "refused", {"code": "? declined"}),
        "text": ErrorInfo("Attributes", "refused", {"code": "declined"}),
        "numbers": ErrorInfo("Attributes", "refused", {"code": 7, "part": 0.5}),
        "message": ErrorInfo("TextOfItsOwn", "refused", {}),
    }


def test_a_value_that_can_not_be_looked_at_fails_its_step_for_good_and_is_rolled_back() -> None:
    seen: dict[str, list[Any]] = {name: [] for name in hostile.VALUES}
    undone: list[str] = []

    def undo(undo: Undo, name: str) -> None:
        undone.append(name)

    @workflow
    def order(ctx: Context) -> None:
        for name, make in hostile.VALUES.items():
            result = ctx.try_step("return", lambda step, name: make(), name, rollback=undo)
            seen[name].append(result.failure)
        ctx.sleep("pause", 60)
        ctx.step("last", lambda step, name: hostile.Unreadable(), "last", rollback=undo)

    with Harness(workflows=[order], steps_per_invocation=1000) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert (execution.error.type, execution.error.details["step"]) == ("CodecError", "last")
        assert undone == ["last", *reversed(hostile.VALUES)]
        assert durable.faults.bodies[: len(seen)] == ["return", *(f"return#{n}" for n in range(2, len(seen) + 1))]
    for name, failures in seen.items():
        assert {(failure.kind, failure.attempts, failure.error.type) for failure in failures} == {
            ("critical", 1, "CodecError")
        }, name
        assert all(failure == failures[0] for failure in failures), name


def test_the_message_says_where_it_is_and_what_was_raised() -> None:
    failures: list[Failure] = []

    @workflow
    def order(ctx: Context) -> None:
        failures.append(ctx.try_step("load", lambda step: {"orders": [1, hostile.Detached(7)]}).failure)

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

    (failure,) = failures
    assert failure.error == ErrorInfo(
        "CodecError",
        "$.orders[1] is a tests.hostile.Detached that can't be read: LookupError: Detached is not bound to a Session; lazy "
        "load of 'lines' can't proceed. Read what is needed in the body, and return that.",
        {"path": "$.orders[1]"},
    )


def break_with(value: Any) -> Callable[[Context], Any]:
    return lambda ctx: ctx.loop("turns", lambda ctx: Break(value))


def go_on_with(value: Any) -> Callable[[Context], Any]:
    return lambda ctx: ctx.loop("turns", lambda ctx, state: Continue(value), state=0)


def begin_with(value: Any) -> Callable[[Context], Any]:
    return lambda ctx: ctx.loop("turns", lambda ctx, state: Break(1), state=value)


@pytest.mark.parametrize("end", [break_with, go_on_with, begin_with], ids=["break", "state", "first state"])
@pytest.mark.parametrize("name", ["attributes that raise", "an attribute that exits", "no class", "in a list"])
def test_one_that_the_workflow_hands_over_is_a_codec_error_that_it_can_catch(
    end: Callable[[Any], Callable[[Context], Any]], name: str
) -> None:
    @workflow
    def order(ctx: Context) -> str:
        try:
            end(hostile.VALUES[name]())(ctx)
        except CodecError:
            return ctx.step("after", lambda step: step.name)
        return "taken"

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", "after")


@pytest.mark.rule("R13")
@pytest.mark.parametrize("name", ["attributes that raise", "an attribute that exits", "no class", "in a list"])
def test_one_that_is_the_output_fails_the_execution_and_rolls_back(name: str) -> None:
    undone: list[str] = []

    @workflow
    def order(ctx: Context) -> Any:
        ctx.step("charge", lambda step: None, rollback=lambda undo: undone.append(undo.name))
        return hostile.VALUES[name]()

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type, undone) == ("failed", "CodecError", ["charge"])


@pytest.mark.rule("S8")
@pytest.mark.parametrize("name", ["attributes that raise", "an attribute that exits", "no class", "in a list"])
def test_one_that_is_put_into_the_state_fails_its_step(name: str) -> None:
    def spoil(step: Step) -> None:
        step.state["order"] = hostile.VALUES[name]()

    @workflow(state=dict)
    def order(ctx: Context) -> str:
        failure = ctx.try_step("spoil", spoil).failure
        return f"{failure.kind} {failure.error.type} {failure.attempts}"

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.output, execution.state) == ("critical CodecError 1", {})


@pytest.mark.parametrize("name", list(hostile.VALUES))
def test_one_that_is_an_argument_is_no_hindrance(name: str) -> None:
    """It is handed over as it is, or copied; but nobody looks at it who has no need to."""

    @workflow
    def order(ctx: Context) -> int:
        return ctx.step("take", lambda step, value: 1, hostile.VALUES[name](), rollback=lambda undo, value: None)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", 1)


@pytest.mark.rule("S10")
def test_one_that_is_published_or_put_into_the_database_fails_its_step() -> None:
    def put(step: Step, name: str) -> None:
        step.db.put("order", hostile.VALUES[name]())

    @workflow
    def order(ctx: Context) -> list[str]:
        failures = [
            ctx.try_step("put", put, name).failure
            for name in ("attributes that raise", "an attribute that exits", "no class", "in a list")
        ]
        return [f"{failure.kind} {failure.error.type} {failure.attempts}" for failure in failures]

    with Harness(workflows=[order], steps_per_invocation=10) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == ["critical CodecError 1"] * 4


class Uncallable:
    """A body that can't be called, and says nothing of how it would like to be."""

    def __getattribute__(self, name: str) -> Any:
        raise hostile.Panic(name)

    def __call__(self, step: Step) -> int:
        return 1


def test_a_body_that_tells_nothing_of_itself_runs() -> None:
    @workflow
    def order(ctx: Context) -> int:
        return ctx.step("run", Uncallable(), rollback=Uncallable())

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", 1)


@pytest.mark.rule("R17")
@pytest.mark.parametrize("name", list(hostile.ERRORS))
def test_an_error_that_the_workflow_raises_is_its_failure_whatever_it_is_like(name: str) -> None:
    undone: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", lambda step: None, rollback=lambda undo: undone.append(undo.name))
        raise hostile.ERRORS[name]()

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run(duration=60)

        assert (execution.status, undone) == ("failed", ["charge"])


@pytest.mark.parametrize("name", list(hostile.ERRORS))
def test_an_error_that_a_block_raises_passes_through_it(name: str) -> None:
    def block(ctx: Context) -> None:
        raise hostile.ERRORS[name]()

    @workflow
    def order(ctx: Context) -> str:
        try:
            return str(ctx.try_block("block", block))
        except BaseException as error:
            return "Suspended" if type(error).__name__ == "Suspended" else ctx.step("after", lambda step: step.name)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run(duration=60)

        assert (execution.status, execution.output) == ("completed", "after")


@pytest.mark.rule("R8")
@pytest.mark.parametrize("name", list(hostile.ERRORS))
def test_an_error_that_a_rollback_raises_fails_the_rollback(name: str) -> None:
    def undo(undo: Undo) -> None:
        raise hostile.ERRORS[name]()

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", lambda step: None, rollback=undo, rollback_retry=ONCE)
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run(duration=60)

        assert (execution.status, execution.error.type, execution.rollback.outcome) == (
            "failed",
            "ValueError",
            "failed",
        )


@pytest.mark.rule("L1")
@pytest.mark.parametrize("name", list(hostile.VALUES))
def test_one_that_a_loop_s_body_returns_is_no_outcome_of_it(name: str) -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.loop("turns", lambda ctx, state: hostile.VALUES[name](), state=0)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run(duration=60)

        assert (execution.status, execution.error.type) == ("failed", "InvalidCall")


@pytest.mark.rule("J7")
@pytest.mark.parametrize("name", list(hostile.VALUES))
def test_one_that_a_check_returns_fails_the_look(name: str) -> None:
    @workflow
    def order(ctx: Context) -> str:
        return ctx.try_block(
            "wait", lambda ctx: ctx.wait_for("it", lambda step: hostile.VALUES[name](), every=60)
        ).failure.error.type

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run(duration=60)

        assert execution.output == "CodecError"
