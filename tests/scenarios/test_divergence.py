"""Code that no longer matches its history is stopped, told from what it should have been, and can be mended."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from durable import Context, ErrorInfo, HistoryDiverged, Retry, Step, Undo
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("D6")

undone: list[str] = []


def undo(undo: Undo) -> None:
    undone.append(undo.name)


def original(ctx: Context) -> str:
    reserved = ctx.step("reserve", lambda step: "reserved", rollback=undo)
    ctx.sleep("pause", 60)
    charged = ctx.step("charge", lambda step: "charged")
    ctx.sleep("settle", 60)
    return f"{reserved}, {charged}"


def other_kind(ctx: Context) -> None:
    ctx.sleep("reserve", 60)


def other_kind_of_wait(ctx: Context) -> None:
    ctx.step("reserve", lambda step: "reserved", rollback=undo)
    ctx.step("pause", lambda step: None)


def step_left_out(ctx: Context) -> None:
    ctx.sleep("pause", 60)


def new_step_before(ctx: Context) -> None:
    ctx.step("validate", lambda step: None)
    original(ctx)


def new_step_between(ctx: Context) -> None:
    ctx.step("reserve", lambda step: "reserved", rollback=undo)
    ctx.step("validate", lambda step: None)


def new_sleep_between(ctx: Context) -> None:
    ctx.step("reserve", lambda step: "reserved", rollback=undo)
    ctx.sleep("breathe", 1)


def shorter(ctx: Context) -> str:
    ctx.step("reserve", lambda step: "reserved", rollback=undo)
    ctx.sleep("pause", 60)
    return "done"


def renamed(ctx: Context) -> None:
    ctx.step("reserve it", lambda step: "reserved", rollback=undo)


def raises_early(ctx: Context) -> None:
    raise ValueError("no such thing as an order")


@pytest.mark.parametrize(
    ("changed", "path", "recorded", "requested"),
    [
        (other_kind, "reserve", "a step", "a sleep"),
        (other_kind_of_wait, "pause", "a sleep", "a step"),
        (step_left_out, "reserve", "a step 'reserve'", "the end of the workflow"),
        (new_step_before, "reserve", "a step 'reserve'", "a new step 'validate'"),
        (new_step_between, "pause", "a sleep 'pause'", "a new step 'validate'"),
        (new_sleep_between, "pause", "a sleep 'pause'", "a new sleep 'breathe'"),
        (shorter, "charge", "a step 'charge'", "the end of the workflow"),
        (renamed, "reserve", "a step 'reserve'", "a new step 'reserve it'"),
        (raises_early, "reserve", "a step 'reserve'", "the end of the workflow"),
    ],
)
def test_both_sides_are_named_no_rollback_runs_and_the_mended_code_goes_on(
    changed: Callable[[Context], Any], path: str, recorded: str, requested: str
) -> None:
    undone.clear()
    code = Code(original)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=90)  # the second sleep is under way
        assert (execution.status, durable.faults.bodies) == ("waiting", ["reserve", "charge"])

        code.deployed = changed
        durable.run()
        raised = ErrorInfo("ValueError", "no such thing as an order") if changed is raises_early else None
        error = HistoryDiverged(path, recorded, requested, cause=raised)
        details = {"path": path, "recorded": recorded, "requested": requested}
        assert (execution.status, execution.rollback.outcome, undone) == ("diverged", "none", [])
        assert execution.error == ErrorInfo("HistoryDiverged", str(error), details)
        assert f"has {recorded} at '{path}'; the code now has {requested}" in str(error)
        assert (", for it raised ValueError: no such thing as an order." in str(error)) == (raised is not None)
        assert [(entry.path, entry.status) for entry in execution.history] == [
            ("reserve", "completed"),
            ("pause", "completed"),
            ("charge", "completed"),
            ("settle", "waiting"),
        ]

        code.deployed = original
        execution.resume()
        durable.run()
        assert (execution.status, execution.output, execution.error) == ("completed", "reserved, charged", None)
        assert (durable.faults.bodies, undone) == (["reserve", "charge"], [])


def test_a_retry_that_waits_is_part_of_the_history_too() -> None:
    def flaky(ctx: Context) -> str:
        return ctx.step("charge", lambda step: {2: "charged"}[step.attempt], retry=Retry(1, backoff_base=60))

    def without(ctx: Context) -> str:
        return "nothing to charge"

    code = Code(flaky)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.deliver_once()

        code.deployed = without
        durable.run()
        assert (execution.status, execution.error.details["recorded"]) == ("diverged", "a step 'charge'")

        code.deployed = flaky
        execution.resume()
        durable.run()
        assert (execution.status, execution.output) == ("completed", "charged")


def book_instead(ctx: Context) -> None:
    ctx.step("book", lambda step: "booked", rollback=undo)
    raise ValueError("sold out")


def without_the_rollback(ctx: Context) -> None:
    ctx.step("reserve", lambda step: "reserved")
    raise ValueError("sold out")


@pytest.mark.rule("R16")
@pytest.mark.parametrize("changed", [book_instead, without_the_rollback, raises_early])
def test_code_that_changed_before_the_rollback_is_not_rolled_back_with(changed: Callable[[Context], Any]) -> None:
    undone.clear()

    def fails(ctx: Context) -> None:
        ctx.step("reserve", lambda step: "reserved", rollback=undo)
        raise ValueError("sold out")

    code = Code(fails)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.deliver_once()
        durable.deliver_once()
        assert execution.status == "failing"

        code.deployed = changed
        durable.run()
        assert (execution.status, execution.error.details["path"], undone) == ("diverged", "reserve", [])

        code.deployed = fails
        execution.resume()
        durable.run()
        assert (execution.status, execution.error) == ("failed", ErrorInfo("ValueError", "sold out"))
        assert (execution.rollback.outcome, undone) == ("completed", ["reserve"])


def test_user_code_never_sees_a_divergence() -> None:
    caught: list[Exception] = []

    def careful(ctx: Context) -> None:
        try:
            ctx.sleep("reserve", 60)
        except Exception as error:
            caught.append(error)

    code = Code(original)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.deliver_once()
        code.deployed = careful
        durable.run()

        assert (execution.status, caught) == ("diverged", [])


def test_a_rest_of_the_same_shape_is_no_divergence() -> None:
    def longer(ctx: Context) -> str:
        answer = original(ctx)
        ctx.step("more", lambda step: None)
        return answer + " and more"

    code = Code(original)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=90)
        code.deployed = longer
        durable.run()

        assert (execution.status, execution.output) == ("completed", "reserved, charged and more")


def test_a_swallowed_divergence_is_one_all_the_same() -> None:
    def charging(ctx: Context) -> None:
        ctx.step("charge", lambda step, card: None, "one card")
        ctx.sleep("pause", 60)

    def swallowing(ctx: Context) -> str:
        with suppress(BaseException):
            ctx.step("charge", lambda step, card: None, "another card")
        ctx.sleep("pause", 60)
        return "a wrong success"

    code = Code(charging)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.deliver_once()
        code.deployed = swallowing
        durable.run()

        assert (execution.status, durable.faults.bodies) == ("diverged", ["charge"])


@pytest.mark.rule("D2", "D7")
@pytest.mark.parametrize("then_fails", [False, True])
def test_what_may_change_at_any_time_is_no_divergence(then_fails: bool) -> None:
    """Bodies, retries, timeouts and rollbacks; a rollback more; a wait's length; code in between; what comes at the end."""
    ran: list[str] = []

    def before(ctx: Context) -> str:
        ctx.step("reserve", lambda step: ran.append("reserve"), rollback=lambda undo: ran.append("old undo"))
        ctx.step("note", lambda step: ran.append("note"))
        ctx.try_step("refused", lambda step: next(iter([])), retry=Retry(0))
        ctx.sleep("pause", 60)
        return ctx.step("charge", lambda step: "old")

    def after(ctx: Context) -> str:
        now = ctx.now()
        ctx.step("reserve", body, retry=Retry(9), timeout=5, rollback=lambda undo: ran.append("undo reserve"))
        ctx.step("note", body, semantics="at_most_once", rollback=lambda undo: ran.append("undo note"))
        if ctx.try_step("refused", body, catch=["exhausted", "timeout"]).ok or ctx.now() < now:
            return "never"
        ctx.sleep("pause", 3_600)
        charged = ctx.step("charge", lambda step: "new")
        ctx.sleep("settle", 60)
        if then_fails:
            raise ValueError("sold out")
        return charged + ctx.step("ship", lambda step: " and shipped")

    def body(step: Step) -> None:
        ran.append(f"new body of {step.name}")

    code = Code(before)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = after
        durable.run()

        if then_fails:
            assert (execution.status, execution.error.type) == ("failed", "ValueError")
            assert ran == ["reserve", "note", "undo note", "undo reserve"]
        else:
            assert (execution.status, execution.output, ran) == ("completed", "new and shipped", ["reserve", "note"])
        slept = next(entry for entry in execution.history if entry.path == "pause")
        assert slept.ended_at == slept.started_at + timedelta(seconds=60)


@pytest.mark.rule("D7")
@pytest.mark.parametrize("asleep", [30, 90])
def test_a_step_in_another_s_place_is_none_where_the_code_says_for_whom_it_is(asleep: int) -> None:
    """One execution waits where the step was, the other has gone on; what is new to both comes behind a gate."""

    def before(ctx: Context) -> str:
        ctx.step("reserve", lambda step: None)
        ctx.step("fax", lambda step: None)
        ctx.sleep("pause", 60)
        ctx.step("charge", lambda step: None)
        ctx.sleep("pause", 60)
        return "before"

    def after(ctx: Context) -> str:
        ctx.step("reserve", lambda step: None)
        ctx.removed("fax", "step")
        if ctx.version("by mail", 2) == 2:
            ctx.step("mail", lambda step: None)
        ctx.sleep("pause", 60)
        ctx.step("charge", lambda step: None)
        ctx.sleep("pause", 60)
        return "after"

    code = Code(before)
    with Harness(workflows=[code.workflow]) as durable:
        old = durable.start(code.workflow)
        durable.run(duration=asleep)
        code.deployed = after
        new = durable.start(code.workflow)
        durable.run()

        assert [old.output, new.output] == ["after", "after"]
        assert sorted(durable.faults.bodies) == ["charge", "charge", "fax", "mail", "reserve", "reserve"]
        steps = [[entry.path for entry in each.history if entry.kind == "step"] for each in (old, new)]
        assert steps == [["reserve", "fax", "charge"], ["reserve", "mail", "charge"]]
