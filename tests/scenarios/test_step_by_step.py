"""An invocation runs the next step, records it, and schedules the continuation."""

from __future__ import annotations

import json

import pytest

from durable import Context, Step, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("D1")


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (1, [(1, "a"), (2, "b"), (3, "c")]),
        (2, [(1, "a"), (1, "b"), (2, "c")]),
        (5, [(1, "a"), (1, "b"), (1, "c")]),
    ],
)
def test_an_invocation_runs_as_many_steps_as_its_budget_allows(steps: int, expected: list[tuple[int, str]]) -> None:
    ran: list[tuple[int, str]] = []

    def work(step: Step) -> str:
        ran.append((len(durable.invocations), step.name))
        return step.name

    @workflow
    def letters(ctx: Context) -> list[str]:
        return [ctx.step(name, work) for name in "abc"]

    with Harness(workflows=[letters], steps_per_invocation=steps) as durable:
        execution = durable.start(letters)
        durable.run()

        assert (execution.status, execution.output) == ("completed", ["a", "b", "c"])
        assert ran == expected


def test_one_step_an_invocation_is_the_default() -> None:
    @workflow
    def letters(ctx: Context) -> None:
        for name in "abc":
            ctx.step(name, lambda step: None)

    with Harness(workflows=[letters]) as durable:
        durable.start(letters)
        bodies = []
        while durable.deliver_once() is not None:
            bodies.append(len(durable.faults.bodies))

        assert bodies == [1, 2, 3, 3]


def test_an_invocation_starts_no_further_step_once_its_seconds_are_over() -> None:
    ran: list[tuple[int, str]] = []

    def work(step: Step) -> None:
        ran.append((len(durable.invocations), step.name))
        durable.clock.advance(6)

    @workflow
    def letters(ctx: Context) -> None:
        for name in "abc":
            ctx.step(name, work)

    with Harness(workflows=[letters], steps_per_invocation=10, parameters={"SecondsPerInvocation": "10"}) as durable:
        execution = durable.start(letters)
        durable.run()

        assert (execution.status, ran) == ("completed", [(1, "a"), (1, "b"), (2, "c")])


def test_a_further_step_needs_half_of_the_invocation_or_its_own_timeout() -> None:
    ran: list[tuple[int, str]] = []

    def work(step: Step, seconds: float) -> None:
        ran.append((len(durable.invocations), step.name))
        durable.clock.advance(seconds)

    @workflow
    def letters(ctx: Context) -> None:
        ctx.step("half", work, 35)
        ctx.step("unbounded", work, 35)
        ctx.step("short", work, 1, timeout=20)
        ctx.step("long", work, 1, timeout=30)

    with Harness(workflows=[letters], steps_per_invocation=10) as durable:  # a worker has 60 seconds
        execution = durable.start(letters)
        durable.run()

        assert execution.status == "completed"
        assert ran == [(1, "half"), (2, "unbounded"), (2, "short"), (3, "long")]


def test_the_continuation_of_a_step_is_for_the_revision_that_recorded_it() -> None:
    @workflow
    def letters(ctx: Context) -> None:
        ctx.step("a", lambda step: None)
        ctx.step("b", lambda step: None)

    with Harness(workflows=[letters]) as durable:
        durable.start(letters, execution_id="one")
        sent = []
        while True:
            sent += [json.loads(message.body) for message in durable.messages()]
            if durable.deliver_once() is None:
                break

        common = {"format": 1, "execution": "one", "workflow": "letters", "version": 1, "phase": "forward"}
        assert sent == [{**common, "revision": 0}, {**common, "revision": 1}, {**common, "revision": 2}]


def test_each_invocation_replays_the_function_and_no_body() -> None:
    replays: list[str] = []

    @workflow
    def letters(ctx: Context) -> None:
        for name in "abc":
            replays.append(name)
            ctx.step(name, lambda step: None)

    with Harness(workflows=[letters]) as durable:
        durable.start(letters)
        durable.run()

        assert "".join(replays) == "a" + "ab" + "abc" + "abc"
        assert durable.faults.bodies == ["a", "b", "c"]
