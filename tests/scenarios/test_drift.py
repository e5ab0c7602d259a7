"""Arguments that differ from the recorded ones show that the code is not deterministic."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from durable import Context, Retry, Step, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("D6")


def charge(step: Step, *arguments: Any) -> str:
    return "charged"


def charging(arguments: Iterable[Any], drift: Literal["error", "warn"] | None = None) -> Any:
    """A workflow whose step gets the next argument at each replay."""
    given = iter(arguments)

    @workflow(drift=drift)
    def order(ctx: Context) -> str:
        result = ctx.step("charge", charge, next(given))
        ctx.sleep("pause", 60)
        return result

    return order


def test_the_harness_takes_it_for_an_error_and_shows_the_arguments() -> None:
    order = charging([1, 2, 3])
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, durable.faults.bodies) == ("diverged", ["charge"])
        assert execution.error.details == {
            "path": "charge",
            "recorded": "a step called with other arguments: 1",
            "requested": "these: 2",
        }
        assert execution.error.message.endswith(
            "The arguments of a step are the same on every replay: take the time from ctx.now(), chance from ctx.random() and "
            "ids from ctx.uuid(), and return from a step what comes from elsewhere."
        )


def test_a_workflow_that_only_warns_goes_on_with_the_recorded_result() -> None:
    order = charging([1, 2, 3], drift="warn")
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output, durable.faults.bodies) == ("completed", "charged", ["charge"])


@pytest.mark.parametrize(
    "argument",
    [7, {"a", "b"}, {"b": [1, 2.5], "a": None}, b"bytes", ("x", 10**30)],
    ids=["number", "set", "dict", "bytes", "tuple"],  # a set's own words differ from process to process
)
def test_equal_arguments_are_no_drift(argument: Any) -> None:
    order = charging([argument] * 3)
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.status == "completed"


def test_what_can_not_be_encoded_is_not_compared() -> None:
    order = charging([threading.Lock(), threading.Lock(), object()])
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.status == "completed"


def test_a_retry_with_other_arguments_is_drift_too() -> None:
    arguments = iter([1, 2])

    def flaky(step: Step, number: int) -> None:
        if step.attempt == 1:
            raise OSError("no line")

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", flaky, next(arguments), retry=Retry(1, backoff_base=60))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.details["requested"]) == ("diverged", "these: 2")
        assert durable.faults.bodies == ["charge"]


@pytest.mark.rule("S15")
def test_the_arguments_of_a_sensitive_step_are_not_shown() -> None:
    given = iter(["a secret", "another secret"])

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", charge, next(given), sensitive=True)
        ctx.sleep("pause", 60)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.error.details["recorded"] == "a step called with other arguments: [redacted]"
        assert "secret" not in str(execution.error)


@pytest.mark.rule("D14")
def test_arguments_that_can_not_be_shown_or_are_long_are_named_all_the_same() -> None:
    given = iter([(b"x" * 10_000, [Shy()]), (b"y" * 10_000, [Shy()])])

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", charge, *next(given))
        ctx.sleep("pause", 60)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.status == "diverged"
        assert execution.error.details["recorded"].startswith("a step called with other arguments: b'xxxx")
        assert len(execution.error.details["recorded"]) < 140


@dataclass(repr=False)
class Shy:
    """A dataclass that can be stored and not shown."""

    number: int = 1

    def __repr__(self) -> str:
        raise LookupError("no name")
