"""Waits of minutes, hours, months and years: they end on time, cost the same, and leave nothing behind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from durable import Context, Execution, QueueTimeout, Step, Undo, workflow
from durable.aws.scheduler import name_of
from durable.protocol.continuation import read
from durable.testing import Harness
from durable.testing.clock import START

DAYS = timedelta(days=1)
YEAR_AND_MORE = timedelta(days=400).total_seconds()


def note(step: Step) -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"


def undo(step: Undo[str]) -> None:
    pass


@workflow
def sleeper(ctx: Context, seconds: float) -> str:
    ctx.step("book", note, rollback=undo)
    ctx.sleep("night", seconds)
    return ctx.step("wake", note)


@workflow
def until(ctx: Context, moment: datetime) -> str:
    ctx.sleep_until("then", moment)
    return ctx.step("wake", note)


@workflow
def waiter(ctx: Context, seconds: float) -> list[str]:
    got = []
    for queue in ("approval", "payment"):
        try:
            got.append(ctx.queue.next(queue, queues=queue, body=str, timeout=seconds).body)
        except QueueTimeout:
            got.append("nothing came")
    return got


@pytest.fixture
def durable_workflows() -> list[object]:
    return [sleeper, until, waiter]


def asleep(durable: Harness, workflow: Any = sleeper, input: Any = YEAR_AND_MORE) -> Execution[Any, Any]:
    """An execution that waits for more than a year."""
    execution: Execution[Any, Any] = durable.start(workflow, input, execution_id="order-1")
    while durable.deliver_once():
        pass
    assert execution.status == "waiting"
    return execution


def scheduler_calls(durable: Harness) -> list[str]:
    return [call.operation for call in durable.calls if call.service == "scheduler"]


# --- on time ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("Q4")
@pytest.mark.parametrize("transport", ["sqs", "eventbridge"])
@pytest.mark.parametrize(
    ("duration", "calls"),
    [
        (timedelta(minutes=1), []),
        (timedelta(minutes=15), []),
        (timedelta(minutes=15, seconds=1), ["CreateSchedule"]),
        (timedelta(minutes=17, seconds=0.5), ["CreateSchedule"]),
        (timedelta(hours=13), ["CreateSchedule"]),
        (timedelta(days=90), ["CreateSchedule"]),
        (timedelta(days=3652), ["CreateSchedule"]),
    ],
)
def test_a_sleep_ends_when_it_should(transport: Any, duration: timedelta, calls: list[str]) -> None:
    with Harness(workflows=[sleeper], transport=transport) as durable:
        execution = durable.start(sleeper, duration.total_seconds())
        durable.run()

        woken = durable.clock.moment - START - duration
        assert (execution.status, timedelta(0) <= woken < timedelta(seconds=1)) == ("completed", True)
        assert execution.output == f"{durable.clock.moment:%Y-%m-%d %H:%M:%S}"
        assert scheduler_calls(durable) == calls
        assert (durable.schedules, durable.messages(None)) == ([], [])
        workers = [invocation.function for invocation in durable.invocations]
        assert workers == ["Worker"] * (
            5 if calls else 4
        )  # book, sleep, wake, end; and one that comes early and is held


@pytest.mark.rule("Q4")
def test_a_sleep_until_a_leap_day_in_years_ends_on_it(durable: Harness) -> None:
    execution = durable.start(until, datetime(2048, 2, 29, 12, tzinfo=UTC))
    durable.run()
    assert execution.output == "2048-02-29 12:00:00"


@pytest.mark.rule("Q4")
def test_a_schedule_brings_the_continuation_two_minutes_early_and_it_is_held(durable: Harness) -> None:
    execution = asleep(durable)
    (timer,) = durable.schedules
    waits = START + 400 * DAYS
    assert datetime.fromtimestamp(timer.moment / 1000, UTC) == waits - timedelta(minutes=2)
    assert (timer.group, timer.target, timer.deleted) == (
        "durable",
        durable.stack.queues["ContinuationQueue"].arn,
        True,
    )
    assert durable.messages() == []

    durable.run(waits - START - timedelta(minutes=2))
    (message,) = durable.messages()
    assert datetime.fromtimestamp(message.visible / 1000, UTC) == waits
    assert (durable.schedules, execution.status) == ([], "waiting")

    durable.run()
    assert (execution.status, durable.clock.moment) == ("completed", waits)


@pytest.mark.rule("Q1", "Q4")
def test_a_wait_for_a_message_ends_after_months_when_none_has_come(durable: Harness) -> None:
    execution = durable.start(waiter, 90 * DAYS.total_seconds())
    durable.run()
    assert (execution.output, durable.clock.moment) == (["nothing came"] * 2, START + 180 * DAYS)
    assert scheduler_calls(durable) == ["CreateSchedule"] * 2


# --- nothing is left behind ------------------------------------------------------------------------------------------


@pytest.mark.rule("R12")
@pytest.mark.parametrize(
    ("verb", "status"),
    [(Execution.cancel, "cancelled"), (Execution.terminate, "terminated")],
    ids=["cancel", "terminate"],
)
@pytest.mark.parametrize("paused", [False, True])
def test_who_ends_a_long_sleep_takes_its_schedule_away(durable: Harness, verb: Any, status: str, paused: bool) -> None:
    execution = asleep(durable)
    if paused:
        execution.pause()
    verb(execution)
    assert durable.schedules == []

    durable.run()
    assert (execution.status, durable.clock.moment) == (status, START)
    assert scheduler_calls(durable) == ["CreateSchedule", "DeleteSchedule"]


@pytest.mark.rule("Q5")
def test_a_message_that_ends_a_long_wait_takes_its_schedule_away(durable: Harness) -> None:
    execution = asleep(durable, waiter, 30 * DAYS.total_seconds())
    execution.send("approval", "yes")
    while durable.deliver_once():
        pass
    assert len(durable.schedules) == 1  # of the next wait
    assert scheduler_calls(durable) == ["CreateSchedule", "CreateSchedule", "DeleteSchedule"]

    execution.send("payment", "paid")
    durable.run()
    assert (execution.output, durable.clock.moment, durable.schedules) == (["yes", "paid"], START, [])


@pytest.mark.rule("Q5")
def test_a_message_to_another_queue_leaves_one_schedule_and_the_same_end(durable: Harness) -> None:
    execution = asleep(durable, waiter, 30 * DAYS.total_seconds())
    (before,) = durable.schedules
    durable.clock.advance(DAYS)
    execution.send("payment", "paid early")
    while durable.deliver_once():
        pass
    (after,) = durable.schedules
    assert (after.moment, after.name != before.name) == (before.moment, True)

    durable.run()
    assert execution.output == ["nothing came", "paid early"]
    assert durable.clock.moment == START + 30 * DAYS


@pytest.mark.rule("E7")
def test_a_pause_in_a_long_sleep_leaves_one_schedule_and_the_same_end(durable: Harness) -> None:
    execution = asleep(durable)
    (before,) = durable.schedules
    execution.pause()
    durable.clock.advance(10 * DAYS)
    execution.resume()
    (after,) = durable.schedules
    assert (after.moment, after.name != before.name) == (before.moment, True)

    durable.run()
    assert (execution.status, durable.clock.moment) == ("completed", START + 400 * DAYS)


def test_a_wait_that_the_queue_keeps_costs_no_call_to_the_scheduler(durable: Harness) -> None:
    execution = asleep(durable, waiter, 900.0)
    execution.send("approval", "yes")
    execution.send("payment", "paid")
    durable.run()
    assert execution.output == ["yes", "paid"]
    assert scheduler_calls(durable) == []


# --- misfortune ------------------------------------------------------------------------------------------------------


@pytest.mark.rule("E3", "E5")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_process_that_dies_around_its_schedule_leaves_one(durable: Harness, moment: str) -> None:
    getattr(durable.faults, moment)(1, durable.faults.die, operation="CreateSchedule")
    execution = durable.start(sleeper, YEAR_AND_MORE)
    durable.run()
    assert (execution.status, durable.clock.moment) == ("completed", START + 400 * DAYS)
    assert scheduler_calls(durable).count("CreateSchedule") == (1 if moment == "before" else 2)
    assert durable.schedules == []


@pytest.mark.rule("D9")
def test_a_scheduler_out_of_reach_is_asked_again_until_it_answers(durable: Harness) -> None:
    refuse = durable.faults.refuse("AccessDeniedException")
    durable.faults.before(1, refuse, operation="CreateSchedule", times=3)
    execution = durable.start(sleeper, YEAR_AND_MORE)
    durable.run()
    assert (execution.status, durable.clock.moment) == ("completed", START + 400 * DAYS)
    assert durable.messages("DeadLetterQueue") == []


@pytest.mark.rule("E3")
def test_a_schedule_that_got_lost_is_made_good_by_the_sweeper(durable: Harness) -> None:
    execution = asleep(durable)
    (timer,) = durable.schedules
    durable.drop_schedule(timer)
    assert durable.schedules == []
    durable.run()
    late = durable.clock.moment - (START + 400 * DAYS)
    assert (execution.status, timedelta(0) <= late <= timedelta(minutes=5)) == ("completed", True)


@pytest.mark.rule("D9", "E3")
def test_a_schedule_that_can_not_be_deleted_is_left_and_does_nothing_when_it_fires(durable: Harness) -> None:
    execution = asleep(durable)
    refuse = durable.faults.refuse("AccessDeniedException")
    durable.faults.before(1, refuse, operation="DeleteSchedule", by="client")
    execution.cancel()
    while durable.deliver_once():
        pass
    assert (execution.status, len(durable.schedules)) == ("cancelled", 1)
    bodies = list(durable.faults.bodies)

    durable.run(400 * DAYS)  # by then it is forgotten altogether
    assert (durable.schedules, durable.faults.bodies, durable.messages(None)) == ([], bodies, [])


@pytest.mark.rule("E3")
def test_a_schedule_that_fires_twice_wakes_once(durable: Harness) -> None:
    execution = asleep(durable)
    durable.duplicate_all()
    durable.run()
    assert (execution.status, durable.faults.bodies) == ("completed", ["book", "wake"])
    assert durable.clock.moment == START + 400 * DAYS


def test_the_name_of_a_schedule_is_that_of_its_continuation(durable: Harness) -> None:
    asleep(durable)
    (timer,) = durable.schedules
    continuation = read(timer.input)
    assert (continuation.execution, timer.name) == ("order-1", name_of(continuation))
