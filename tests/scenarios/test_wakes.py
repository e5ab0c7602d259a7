"""When an execution is woken next: one answer, whoever asks; and one that waits for ever is left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from durable import Context, Execution, InvalidCall, QueueTimeout, Retry, Step, workflow
from durable.protocol.continuation import continuation_of
from durable.testing import Harness
from durable.usercode.durations import FOREVER
from tests.scenarios import table

EVER = timedelta.max
BEYOND = 1e300  # seconds


def flaky(step: Step) -> str:
    if step.attempt == 1:
        raise ConnectionError("try again")
    return "ok"


def patient(attempt: int, error: Any) -> float:
    return BEYOND


@workflow
def listens(ctx: Context) -> str:
    return str(ctx.queue.next("wait", "letters").body)


@workflow
def expects(ctx: Context) -> str:
    try:
        return str(ctx.queue.next("wait", "letters", timeout=EVER).body)
    except QueueTimeout:
        return "nothing came"


@workflow
def tries(ctx: Context) -> str:
    return ctx.step("flaky", flaky, retry=Retry(2, delay=patient))


WAITS = [listens, expects, tries]


@pytest.fixture(params=WAITS, ids=lambda target: target.name)
def waiting(request: pytest.FixtureRequest) -> Iterator[tuple[Harness, Execution[Any, Any]]]:
    with Harness(workflows=WAITS) as durable:
        durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000_000)
        execution = durable.start(request.param)
        durable.run(duration=3_600)
        assert execution.status == "waiting"
        yield durable, execution


def left(durable: Harness, execution: Execution[Any, Any]) -> tuple[Any, ...]:
    """What would bring the execution back, and when the sweeper would look at it."""
    return durable.messages(None), list(durable.schedules), table.head(durable, execution.id).due


@pytest.mark.rule("E3", "Q4", "E5")
def test_one_that_waits_for_ever_leaves_nothing_that_would_wake_it(
    waiting: tuple[Harness, Execution[Any, Any]],
) -> None:
    durable, execution = waiting
    assert left(durable, execution) == ([], [], 0)


def duplicated(durable: Harness, execution: Execution[Any, Any]) -> None:
    for message in list(durable.sent):
        durable.duplicate(message)


def dead_lettered(durable: Harness, execution: Execution[Any, Any]) -> None:
    letter = durable.sent[-1]
    source = "arn:aws:sqs:us-east-1:123456789012:durable-DeadLetterQueue"
    record = {"messageId": letter.id, "receiptHandle": "handle", "body": letter.body, "eventSourceARN": source}
    durable.invoke("DeadLetters", {"Records": [record]})


def sent_again(durable: Harness, execution: Execution[Any, Any]) -> None:
    durable.application.queue.send(continuation_of(table.head(durable, execution.id)))


def paused(durable: Harness, execution: Execution[Any, Any]) -> None:
    execution.pause()
    execution.resume()


@pytest.mark.rule("E3", "E6", "E7")
@pytest.mark.parametrize("disturb", [duplicated, dead_lettered, sent_again, paused], ids=lambda it: it.__name__)
def test_nothing_that_comes_to_it_makes_a_schedule(
    waiting: tuple[Harness, Execution[Any, Any]], disturb: Callable[[Harness, Execution[Any, Any]], None]
) -> None:
    durable, execution = waiting
    disturb(durable, execution)
    durable.run(duration=86_400)

    assert left(durable, execution) == ([], [], 0)
    assert [call.operation for call in durable.calls if call.service == "scheduler"] == []
    assert execution.status == "waiting"


@pytest.mark.rule("R12", "Q5")
def test_a_message_and_a_cancel_still_reach_it(waiting: tuple[Harness, Execution[Any, Any]]) -> None:
    durable, execution = waiting
    execution.send("letters", "hello")
    durable.run(duration=60)
    if execution.workflow in ("listens", "expects"):
        assert execution.output == "hello"
        return
    assert left(durable, execution) == ([], [], 0)
    execution.cancel()
    durable.run(duration=60)

    assert (execution.status, left(durable, execution)[:2]) == ("cancelled", ([], []))


@pytest.mark.rule("R13")
def test_a_timeout_of_an_execution_that_never_comes_is_no_timeout_or_refused() -> None:
    for timeout in (EVER, BEYOND):
        try:

            @workflow(timeout=timeout)
            def order(ctx: Context) -> str:
                ctx.sleep("nap", 3_600)
                return "done"

        except InvalidCall:
            continue
        with Harness(workflows=[order]) as durable:
            execution = durable.start(order)
            durable.run()
            assert (execution.status, execution.output) == ("completed", "done")


@pytest.mark.rule("Q4", "E5")
@pytest.mark.parametrize("length", [EVER, BEYOND, 1e10], ids=["max", "beyond", "three centuries"])
def test_a_sleep_that_never_ends_is_refused_or_leaves_nothing_beyond_the_end_of_time(length: Any) -> None:
    @workflow
    def sleeps(ctx: Context) -> None:
        ctx.sleep("for ever", length)

    with Harness(workflows=[sleeps]) as durable:
        execution = durable.start(sleeps)
        durable.run(duration=3_600)
        assert execution.status == "waiting" or "InvalidCall" in str(execution.error)
        assert all(timer.moment < FOREVER for timer in durable.schedules)
        if execution.status == "waiting":
            execution.pause()
            execution.resume()
            execution.cancel()
            durable.run(duration=3_600)
        assert (execution.status in ("cancelled", "failed"), list(durable.schedules)) == (True, [])


@pytest.mark.rule("E6", "E3")
@pytest.mark.usefixtures("no_sweeper")
@pytest.mark.durable(workflows=[listens])
def test_a_message_that_comes_to_it_just_then_is_not_lost(durable: Harness) -> None:
    execution = durable.start(listens)
    durable.run(duration=60)
    durable.faults.before(1, durable.faults.refuse("AccessDeniedException"), operation=durable.sending, by="client")
    try:
        execution.send("letters", "hello", message_id="m-1")
    except Exception:
        execution.send("letters", "hello", message_id="m-1")
    durable.run(duration=60)

    assert (execution.status, execution.output) == ("completed", "hello")
