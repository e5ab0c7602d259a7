"""The end of a run is replayed at another time, with other random numbers: what is not the same then is an error."""

from __future__ import annotations

import functools
import os
import random
import time
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from durable import Context, DurableError, HistoryDiverged, Step, StepFailed, TerminalError, Undo, workflow
from durable.testing import Harness
from durable.testing.clock import START

pytestmark = pytest.mark.rule("D6", "D10")


def note(step: Step, *arguments: Any) -> str:
    return "noted"


@functools.cache
def instance() -> str:
    """An identity that a warm process keeps."""
    return str(uuid.uuid4())


# What the clock of a test that stands still, or a process that stays warm, would hide.
VARYING: dict[str, Callable[[], Any]] = {
    "time.time()": time.time,
    "time.time_ns()": time.time_ns,
    "time.monotonic()": time.monotonic,
    "time.perf_counter()": time.perf_counter,
    "time.localtime()": lambda: list(time.localtime()),
    "datetime.now()": datetime.now,
    "datetime.now(UTC)": lambda: datetime.now(UTC),
    "datetime.utcnow()": lambda: datetime.now(UTC).replace(tzinfo=None),
    "whole seconds": lambda: int(time.time()),
    "the minute": lambda: datetime.now().strftime("%H:%M"),
    "date.today()": date.today,
    "the month": lambda: date.today().month,
    "the year": lambda: date.today().year,
    "the hour": lambda: datetime.now().hour,
    "random.random()": random.random,
    "random.choice()": lambda: random.choice(range(10**9)),
    "random.Random()": lambda: random.Random().random(),
    "uuid.uuid4()": uuid.uuid4,
    "uuid.uuid1()": uuid.uuid1,
    "os.urandom()": lambda: os.urandom(8),
    "a cached value": instance,
}


@pytest.mark.parametrize("read", VARYING.values(), ids=VARYING)
def test_a_step_that_is_given_what_varies_fails_the_run(read: Callable[[], Any]) -> None:
    @workflow
    def order(ctx: Context) -> None:
        now = read()
        ctx.step("a", note, now)

    with Harness(workflows=[order], steps_per_invocation=20) as durable:
        execution = durable.start(order, execution_id="one")
        with pytest.raises(
            DurableError, match=r"'order' is not deterministic: of execution 'one', at 'a' .*ctx\.now\(\)"
        ):
            durable.run()

        assert (execution.status, durable.faults.bodies) == ("completed", ["a"])


@pytest.mark.parametrize("read", [VARYING[name] for name in ("time.time()", "time.time_ns()", "datetime.now()")])
def test_one_step_an_invocation_it_diverges_in_the_second(read: Callable[[], Any]) -> None:
    @workflow
    def order(ctx: Context) -> None:
        now = read()
        ctx.step("a", note, now)
        ctx.step("b", note)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type, execution.error.details["path"]) == (
            "diverged",
            HistoryDiverged.__name__,
            "a",
        )


def late(ctx: Context) -> str:
    if datetime.now(UTC) > START + timedelta(days=100):
        ctx.step("too late", note)
    return ctx.step("in time", note)


def renamed(ctx: Context) -> str:
    return ctx.step(f"report of {date.today()}", note)


def more(ctx: Context) -> str:
    result = ctx.step("a", note)
    if date.today().year != START.year:
        ctx.step("b", note)
    return result


def fewer(ctx: Context) -> str:
    if date.today().year == START.year:
        ctx.step("a", note)
    return "done"


def another_wait(ctx: Context) -> str:
    ctx.sleep(f"until {date.today()}", 3600)
    return "done"


def raises(ctx: Context) -> str:
    result = ctx.step("a", note)
    if date.today().year != START.year:
        raise ValueError("last year's")
    return result


def inside_a_block(ctx: Context) -> str:
    return ctx.try_block("block", lambda ctx: ctx.step("a", note, date.today())).value


def shuffled(ctx: Context) -> str:
    for name in random.sample("abcdefghijkl", 12):
        ctx.step(name, note)
    return "done"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (late, "at 'in time' it has a step 'in time'; replayed, the code has a new step 'too late'"),
        (renamed, "replayed, the code has a new step 'report of 2031-05-27'"),
        (more, "it returned; replayed, the code comes to the step 'b'"),
        (fewer, "at 'a' it has a step 'a'; replayed, the code has the end of the workflow"),
        (raises, "it returned; replayed, the code raises ValueError: last year's"),
        (inside_a_block, "at 'block/a' it has a step called with other arguments"),
        (shuffled, "replayed, the code has it after that"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_code_that_goes_another_way_fails_the_run(code: Callable[[Context], str], said: str) -> None:
    flow = workflow(name="order")(code)
    with Harness(workflows=[flow], steps_per_invocation=20) as durable:
        durable.start(flow)
        with pytest.raises(DurableError) as error:
            durable.run()

        assert said in str(error.value)


def test_what_waits_is_replayed_too() -> None:
    order = workflow(name="order")(another_wait)
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        with pytest.raises(
            DurableError, match=r"a sleep 'until 2030-01-01'; replayed, the code has a new sleep 'until 2031"
        ):
            durable.run(duration=60)

        assert execution.status == "waiting"


def test_what_failed_is_replayed_too() -> None:
    def failing(step: Step, when: date) -> None:
        raise TerminalError("no")

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("a", note, rollback=undo)
        ctx.step("b", failing, date.today(), rollback=undo)

    def undo(undo: Undo[Any], *arguments: Any) -> None:
        pass

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        with pytest.raises(DurableError, match="at 'b' it has a step called with other arguments"):
            durable.run()

        assert execution.status == "failed"


def deterministic(ctx: Context) -> list[Any]:
    """Everything that a workflow may use: none of it is drift."""
    seen: list[Any] = [ctx.now(), ctx.uuid(), ctx.random().random()]
    ctx.step("a", note, *seen)
    ctx.sleep("pause", 3600)
    ctx.step("time in a body", lambda step: time.time())
    handled = ctx.try_step("fails", fails)
    ctx.step("b", note, ctx.now(), str(handled))
    message = ctx.queue.next("wait", "orders", body=int, timeout=60)
    return [*seen, message.body]


def fails(step: Step) -> None:
    raise TerminalError(f"at {time.time()}")


@pytest.mark.parametrize("steps", [1, 20])
def test_code_that_is_deterministic_passes(steps: int) -> None:
    order = workflow(name="order")(deterministic)
    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        execution = durable.start(order)
        durable.run(duration=3610)
        execution.send("orders", 7)
        durable.run()

        assert (execution.status, execution.output[-1]) == ("completed", 7)


def test_each_invocation_sees_a_later_time_and_the_clock_stays_exact() -> None:
    seen: list[float] = []

    @workflow
    def order(ctx: Context) -> None:
        seen.append(time.time())
        for name in "abc":
            ctx.step(name, note)

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        before = durable.clock.now()
        durable.run()

        assert seen == sorted(set(seen)) and len(seen) == 4
        assert [0 < moment * 1000 - before < 100 for moment in seen] == [True] * 4
        assert (durable.clock.now(), time.time() * 1000) == (before, before)


def test_what_the_replay_does_to_the_objects_of_the_test_does_not_last() -> None:
    calls: list[int] = []

    @workflow
    def order(ctx: Context) -> None:
        calls.append(1)
        ctx.step("a", note)

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        state = random.getstate()
        durable.run()

        assert (len(calls), random.getstate() == state) == (2, True)
        assert len(durable.invocations) == 2


def test_a_workflow_that_only_warns_may_have_other_arguments() -> None:
    @workflow(drift="warn")
    def order(ctx: Context) -> str:
        return ctx.step("a", note, time.time())

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == "noted"


def test_what_ended_under_other_code_is_not_replayed_against_the_new() -> None:
    @workflow(name="order")
    def old(ctx: Context) -> str:
        return ctx.step("old", note)

    @workflow(name="order")
    def new(ctx: Context) -> str:
        return ctx.step("new", note)

    with Harness(workflows=[old]) as durable:
        first = durable.start(old)
        durable.run()
        durable.deploy([new])
        second = durable.start(new)
        durable.run()

        assert (first.status, second.status) == ("completed", "completed")
        assert [entry.path for entry in second.history] == ["new"]


def test_a_replay_that_ends_its_process_is_an_error_and_not_the_end_of_the_test() -> None:
    @workflow
    def order(ctx: Context) -> None:
        if date.today().year != START.year:
            os._exit(3)
        ctx.step("a", note)

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        with pytest.raises(DurableError, match="ends its process"):
            durable.run()


def test_a_large_value_is_there_for_the_replay() -> None:
    @workflow
    def order(ctx: Context) -> int:
        large = ctx.step("large", lambda step: "x" * 400_000)
        return ctx.step("b", lambda step, size: size, len(large))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == 400_000


def test_a_failure_that_the_code_handles_is_the_same_then() -> None:
    @workflow
    def order(ctx: Context) -> str:
        try:
            ctx.step("fails", fails)
        except StepFailed as error:
            return ctx.step("b", lambda step, text: text, error.error.message)
        return "never"

    with Harness(workflows=[order], steps_per_invocation=20) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output.startswith("at 1893456")
