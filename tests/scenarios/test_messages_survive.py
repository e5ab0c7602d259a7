"""A message is never lost and never taken twice: at a crash, at its timeout, and when it comes while one is about to park."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from durable import Context, Execution, InvalidState, QueueTimeout, Step, workflow
from durable.protocol.continuation import continuation_of
from durable.runtime.client.history_view import RollbackOutcome
from durable.testing import Harness
from durable.testing.clock import START
from tests.scenarios import table
from tests.scenarios.misfortune import struck_everywhere
from tests.scenarios.outside import Outside
from tests.scenarios.sagas import Saga


def saga(outside: Outside) -> Saga:
    """Takes early messages one by one and together, waits in vain, and sends to itself."""

    def tell(step: Step) -> None:
        outside.do(step)
        step.queue.send("own", 4)

    @workflow(state=dict[str, int])
    def takes(ctx: Context[dict[str, int]]) -> str:
        taken = [ctx.queue.next("one", "numbers", body=int).body]
        ctx.step("between", outside.do)
        taken += [message.body for message in ctx.queue.next_batch("two", body=int, count=5)]
        taken += [message.body for message in ctx.queue.next_batch("none", body=int, timeout=60)]
        ctx.step("tell", tell)
        taken.append(ctx.queue.next("own", "own", body=int).body)
        return str(taken)

    def prepare(durable: Harness, execution_id: str) -> None:
        execution = durable.get(execution_id)
        for number, queue in enumerate(("numbers", "numbers", "others"), start=1):
            execution.send(queue, number)

    effects = ["between", "tell"]
    return Saga(takes, "completed", "[1, 2, 3, 4]", None, RollbackOutcome("none"), effects, {}, prepare=prepare)


@pytest.mark.rule("Q2", "Q5", "S11", "E3")
@pytest.mark.parametrize("chunk", range(2))
def test_each_is_taken_once_wherever_the_process_dies(chunk: int) -> None:
    assert struck_everywhere(saga, 3, chunk, 2) == []


@workflow
def waits(ctx: Context) -> list[str]:
    try:
        first = ctx.queue.next("first", "letters", body=str, timeout=60).body
    except QueueTimeout:
        first = ctx.step("nothing came", lambda step: "nothing came")
    ctx.step("between", lambda step: None)
    return [first, *(message.body for message in ctx.queue.next_batch("rest", "letters", count=9, timeout=60))]


@pytest.mark.rule("Q2")
def test_it_is_taken_in_the_write_that_records_it_and_its_item_is_deleted_after() -> None:
    with Harness(workflows=[waits]) as durable:
        execution = durable.start(waits)
        execution.send("letters", "a")
        before = len(durable.calls)
        durable.deliver_once()

        table = [call.operation for call in durable.calls[before:] if call.service == "dynamodb"]
        assert table == ["UpdateItem", "Query", "UpdateItem", "BatchWriteItem", "UpdateItem"]  # claim, look, record, …
        durable.run()
        assert execution.output == ["a"]


@pytest.mark.rule("Q5")
def test_one_that_comes_while_a_body_runs_is_there_for_the_next_wait() -> None:
    with Harness(workflows=[waits]) as durable:
        execution = durable.start(waits)
        execution.send("letters", "a")
        durable.faults.in_body(1, lambda: execution.send("letters", "b"), path="between")
        durable.run()

        assert (execution.output, durable.clock.moment) == (["a", "b"], START)


@pytest.mark.rule("Q5")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_one_that_comes_while_the_execution_is_about_to_park_wakes_it(moment: str) -> None:
    with Harness(workflows=[waits]) as durable:
        execution = durable.start(waits)
        park = 2  # the claim is the first
        at = getattr(durable.faults, moment)
        at(park, lambda: execution.send("letters", "a"), operation="UpdateItem", by="Worker")
        durable.run(duration=30)

        assert [entry.path for entry in execution.history][:2] == ["first", "between"]
        durable.run()
        assert execution.output == ["a"]


@pytest.mark.rule("Q2", "Q5")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_one_that_comes_at_any_call_of_a_worker_is_taken_once_and_at_once(moment: str) -> None:
    with Harness(workflows=[waits]) as durable:
        problems: list[tuple[int, str]] = []
        came: list[str] = []
        nth = 0
        while "it had ended" not in came:
            nth += 1
            came.clear()
            execution = durable.start(waits)
            execution.send("letters", "a")
            getattr(durable.faults, moment)(nth, partial(come, execution, came), by="Worker")
            durable.run(duration=30)  # half of the timeout
            durable.faults.clear()
            if came == ["it came"] and (execution.status, execution.history[-1].status) != ("completed", "completed"):
                problems.append((nth, execution.status))
            durable.run()
            if came == ["it came"] and execution.output != ["a", "b"]:
                problems.append((nth, str(execution.output)))
            if not came:
                break  # there are no more calls
        assert (problems, nth > 8) == ([], True)


def come(execution: Execution[list[str], Any], came: list[str]) -> None:
    try:
        execution.send("letters", "b")
        came.append("it came")
    except InvalidState:
        came.append("it had ended")


@pytest.mark.rule("Q2")
@pytest.mark.parametrize(("at", "first"), [(59.999, "a"), (60, "a"), (61, "nothing came")])
def test_around_the_timeout_it_is_taken_by_this_wait_or_by_the_next_one(at: float, first: str) -> None:
    with Harness(workflows=[waits]) as durable:
        execution = durable.start(waits)
        while durable.deliver_once():
            pass
        if at <= 60:
            durable.clock.advance(at)
        else:
            durable.run(duration=at)
        execution.send("letters", "a")
        durable.run()

        assert execution.output == (["a"] if first == "a" else ["nothing came", "a"])


@pytest.mark.rule("Q2", "D2")
def test_a_timeout_that_was_acted_upon_stands_when_the_message_comes_and_the_process_dies() -> None:
    """H17: the body of the timeout's branch has run; a wait that then took the message would leave it in no history."""
    with Harness(workflows=[waits]) as durable:
        execution = durable.start(waits)

        def late_and_fatal() -> None:
            execution.send("letters", "late")
            durable.faults.die()

        durable.faults.in_body(1, late_and_fatal, path="nothing came")
        durable.run()

        assert (execution.status, execution.output) == ("completed", ["nothing came", "late"])
        assert durable.faults.bodies == ["nothing came", "nothing came", "between"]


@pytest.mark.rule("Q2", "R12")
def test_a_message_that_was_acted_upon_stands_too() -> None:
    undone: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        text = ctx.queue.next("wait", "letters", body=str, timeout=60).body
        ctx.step(text, lambda step: None, rollback=lambda undo: undone.append(undo.path))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        execution.send("letters", "charge")
        durable.faults.in_body(1, durable.faults.die, path="charge")
        durable.deliver_once()
        execution.cancel()
        durable.run()

        assert (execution.status, undone) == ("cancelled", ["charge"])


@pytest.mark.rule("Q5", "J4")
def test_one_to_another_queue_wakes_nobody_for_good_and_is_kept() -> None:
    with Harness(workflows=[waits]) as durable:
        execution = durable.start(waits)
        while durable.deliver_once():
            pass
        execution.send("others", "x")
        durable.run(duration=30)
        assert (execution.status, [entry.path for entry in execution.history]) == ("waiting", ["first"])
        execution.send("letters", "a")
        durable.run()

        assert execution.output == ["a"]


@pytest.mark.rule("E3", "E5")
def test_woken_early_for_nothing_it_ends_although_its_time_passes_before_it_parks_again() -> None:
    """V3: the time is over before the commit of the second park, which must then send what brings the execution back."""
    with Harness(workflows=[waits]) as durable:
        durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000)
        execution = durable.start(waits)
        durable.run(duration=30)
        execution.send("others", "x")
        park = 2  # the claim is the first
        durable.faults.before(park, lambda: durable.clock.advance(31), operation="UpdateItem", by="Worker")
        durable.deliver_once()
        head = table.head(durable, execution.id)
        assert (head.status, head.wake < durable.clock.now()) == ("waiting", True)
        durable.run()

        assert (execution.status, execution.output) == ("completed", ["nothing came"])


@pytest.mark.rule("E3", "E6", "Q5")
def test_a_message_that_is_being_deleted_is_not_the_one_that_wakes_a_sleeper_without_end() -> None:
    """N1: a send to what sleeps for ever raises the revision, so that a copy of what is about to go claims nothing.

    Were the copy to claim, record its step and die before it sends, nothing would be left to bring the execution back.
    """

    @workflow
    def sleeper(ctx: Context) -> str:
        text = ctx.queue.next("wait", "letters", body=str).body
        return ctx.step("work", lambda step: text)

    with Harness(workflows=[sleeper]) as durable:
        durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000)
        execution = durable.start(sleeper)
        durable.run()
        durable.application.queue.send(continuation_of(table.head(durable, execution.id)))
        batch = durable.take()
        assert batch is not None
        decided = batch.invoke()
        assert decided.answer == {"batchItemFailures": []}  # it is to be deleted, and is not yet

        execution.send("letters", "a")
        durable.faults.before(1, durable.faults.die, operation=durable.sending, by="Worker")
        batch.invoke()
        batch.settle(decided)
        durable.run()

        assert (execution.status, execution.output, durable.faults.bodies) == ("completed", "a", ["work"])


@pytest.mark.rule("E3", "R3")
@pytest.mark.parametrize("write", ["start", "send", "resume"])
def test_a_client_that_dies_between_its_write_and_its_message_is_made_good_by_the_sweeper(write: str) -> None:
    """H18: the write itself makes the execution due."""
    with Harness(workflows=[waits]) as durable:
        if write == "start":
            durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by="client")
        execution = durable.start(waits)
        while durable.deliver_once():
            pass
        if write == "resume":
            execution.pause()
        if write != "start":
            durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by="client")
        if write == "resume":
            execution.resume()
        if write == "send":
            execution.send("letters", "a")
        durable.run()

        assert execution.status == "completed"
        assert execution.output == (["a"] if write == "send" else ["nothing came"])
