"""A paused execution does nothing; resumed, it goes on as if no time had passed but that on the clock."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from durable import Context, Execution, QueueTimeout, Retry, Step, workflow
from durable.testing import Harness
from durable.testing.clock import START
from tests.scenarios import table

pytestmark = pytest.mark.rule("E7")


def flaky(step: Step) -> str:
    if step.attempt == 1:
        raise OSError("no line")
    return f"attempt {step.attempt}"


@workflow
def sleeps(ctx: Context) -> str:
    ctx.sleep("nap", 600)
    return ctx.step("wake", lambda step: "slept")


@workflow
def retries(ctx: Context) -> str:
    return ctx.step("flaky", flaky, retry=Retry(1, backoff_base=600, backoff_max=600, jitter=False))


@workflow
def waits(ctx: Context) -> str:
    try:
        return ctx.queue.next("wait", "letters", body=str, timeout=600).body
    except QueueTimeout:
        return "nothing came"


@workflow
def waits_for_ever(ctx: Context) -> str:
    return ctx.queue.next("wait", "letters", body=str).body


@pytest.fixture
def durable_workflows() -> list[Any]:
    return [sleeps, retries, waits, waits_for_ever]


def waiting(durable: Harness, workflow: Any) -> Execution[Any, Any]:
    execution: Execution[Any, Any] = durable.start(workflow)
    while durable.deliver_once():
        pass
    assert execution.status == "waiting"
    return execution


ENDS = [(sleeps, "slept"), (retries, "attempt 2"), (waits, "nothing came")]


@pytest.mark.rule("Q4", "S2")
@pytest.mark.parametrize(("workflow", "output"), ENDS)
def test_resumed_before_its_time_it_waits_for_the_rest(durable: Harness, workflow: Any, output: str) -> None:
    execution = waiting(durable, workflow)
    durable.run(duration=100)
    execution.pause()
    durable.run(duration=200)
    assert execution.status == "paused"
    execution.resume()
    assert execution.status == "waiting"
    durable.run()

    assert (execution.output, durable.clock.moment) == (output, START + timedelta(seconds=600))


@pytest.mark.parametrize(("workflow", "output"), ENDS)
def test_resumed_after_its_time_it_goes_on_at_once(durable: Harness, workflow: Any, output: str) -> None:
    execution = waiting(durable, workflow)
    execution.pause()
    durable.run(duration=3600)
    assert (execution.status, durable.messages()) == ("paused", [])
    execution.resume()
    durable.run()

    assert (execution.output, durable.clock.moment) == (output, START + timedelta(hours=1))


@pytest.mark.rule("Q2", "Q5")
@pytest.mark.parametrize("workflow", [waits, waits_for_ever])
def test_a_message_that_comes_meanwhile_is_kept_and_taken_after(durable: Harness, workflow: Any) -> None:
    execution = waiting(durable, workflow)
    execution.pause()
    execution.send("letters", "a letter")
    durable.run(duration=60)
    assert (execution.status, execution.history[0].status) == ("paused", "waiting")
    execution.resume()
    durable.run(duration=0)

    assert execution.output == "a letter"


def test_a_wait_without_end_is_resumed_to_wait(durable: Harness) -> None:
    execution = waiting(durable, waits_for_ever)
    execution.pause()
    execution.resume()
    durable.run(duration=86_400)
    assert (execution.status, durable.messages()) == ("waiting", [])
    execution.send("letters", "a letter")
    durable.run()

    assert execution.output == "a letter"


def test_one_that_has_not_begun_begins_when_it_is_resumed(durable: Harness) -> None:
    execution = durable.start(waits_for_ever)
    execution.pause()
    durable.run(duration=3600)
    assert (execution.status, durable.invocations[-1].answer) == ("paused", {"batchItemFailures": []})
    execution.send("letters", "a letter")
    execution.resume()
    assert execution.status == "pending"
    durable.run()

    assert execution.output == "a letter"


@pytest.mark.rule("E3")
def test_what_is_resumed_in_its_sleep_is_not_sent_again_and_again(durable: Harness) -> None:
    """V1: due at its wake time, and not before: else each sweep would add a message that is held."""
    execution = waiting(durable, sleeps)
    execution.pause()
    execution.resume()
    head = table.head(durable, execution.id)
    assert head.due == head.wake
    for _ in range(5):
        durable.run(duration=60)
        durable.sweep()

    assert len(durable.messages()) <= 2  # the timer of before the pause, and the one of the resume
    durable.run()
    assert execution.output == "slept"


@pytest.mark.rule("E3")
@pytest.mark.parametrize("nth", range(1, 5))
def test_paused_at_any_call_of_its_worker_it_ends_the_same_when_it_is_resumed(durable: Harness, nth: int) -> None:
    execution = durable.start(retries)
    paused: list[str] = []

    def pause() -> None:
        execution.pause()
        paused.append(execution.status)

    durable.faults.before(nth, pause, by="Worker")
    durable.run(duration=3600)
    if paused:
        assert execution.status == "paused"
        execution.resume()
    durable.run()

    assert execution.output == "attempt 2"
