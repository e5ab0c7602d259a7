"""An invocation that is late: what it may still write, and that nothing is lost for it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from durable import Context, Execution, ExecutionBusy, InvalidState, Step, Undo, workflow
from durable.functions.events.parsing import delivery
from durable.testing import Harness
from tests.emulators import moto_only
from tests.scenarios import table
from tests.scenarios.outside import incompressible

ran: list[str] = []
looks: list[int] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()
    looks.clear()


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


def large(step: Step) -> str:
    ran.append(step.path)
    return incompressible(900) + step.path


def undo(undo: Undo[Any]) -> None:
    ran.append(f"undo {undo.path}")


# --- the answer to a message ------------------------------------------------------------------------------------------


@workflow
def answers(ctx: Context) -> str:
    message = ctx.queue.next("wait", "questions", completable=True)
    looks.append(len(looks) + 1)
    message.complete(f"answer {looks[-1]}")
    ctx.step("note", note)
    return f"answered {message.body}"


def response(execution: Execution[Any, Any]) -> Any:
    try:
        return execution.send("questions", "?", wait=0, message_id="m-1")
    except (InvalidState, ExecutionBusy):
        return None


@pytest.mark.rule("Q3", "E4")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_message_that_nobody_has_taken_gets_no_answer(moment: str) -> None:
    """The execution is terminated at one call after the other: an answer is there just where the taking is recorded."""
    problems = []
    nth = 1
    while True:
        with Harness(workflows=[answers]) as durable:
            execution = durable.start(answers)
            execution.send("questions", "?", message_id="m-1")
            came: list[int] = []
            getattr(durable.faults, moment)(
                nth, lambda it=execution, came=came: (it.terminate(), came.append(1)), by="Worker"
            )
            try:
                durable.run()
            except InvalidState:
                break
            if not came:
                break
            taken = [entry.path for entry in execution.history if entry.kind == "queue" and entry.status == "completed"]
            if bool(taken) != (response(execution) is not None):
                problems.append((nth, taken, response(execution)))
        nth += 1
    assert problems == []
    assert nth > 3


@pytest.mark.rule("Q3", "E4")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_the_answer_is_that_of_the_invocation_which_took_the_message(moment: str) -> None:
    """An invocation stands still at one call after the other, and another takes its place."""
    problems = []
    nth = 1
    while True:
        looks.clear()
        with Harness(workflows=[answers]) as durable:
            execution = durable.start(answers)
            execution.send("questions", "?", message_id="m-1")
            came: list[Any] = []

            def overtaken(durable: Harness = durable, it: Any = execution, came: list[Any] = came) -> None:
                came.append(None)
                table.end_lease(durable, it.id)
                durable.duplicate(durable.sent[0])
                durable.deliver_once()
                came[0] = response(it)

            getattr(durable.faults, moment)(nth, overtaken, by="Worker")
            durable.run()
            if not came:
                break
            answer = response(execution)
            if execution.status != "completed" or answer is None or came[0] not in (None, answer):
                problems.append((nth, execution.status, came, answer))
        nth += 1
    assert problems == []
    assert nth > 3


# --- a message of its own that comes back while it still works --------------------------------------------------------


@workflow
def three(ctx: Context) -> str:
    for name in ("first", "second"):
        ctx.step(name, note)
    return ctx.step("third", note)


@moto_only  # MiniStack refuses the receipt of before
@pytest.mark.rule("E3", "E6")
@pytest.mark.parametrize("body", [1, 2, 3])
@pytest.mark.parametrize("fails", range(1, 4))
def test_an_execution_is_not_lost_when_its_late_holder_can_not_send(body: int, fails: int) -> None:
    """It is past its lease, and its own message is delivered again; then a send fails."""
    with Harness(workflows=[three], steps_per_invocation=3) as durable:
        durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000_000)
        execution = durable.start(three)

        def late() -> None:
            """Its clock and the others' differ by more than the margin of a lease."""
            table.end_lease(durable, execution.id)
            (record,) = durable.invocations[-1].event["Records"]
            with durable.unrecorded():
                durable.application.queue.hold(delivery(record, durable.clock.now()).receipt, 0)
            durable.deliver_once()
            durable.faults.before(
                fails, durable.faults.refuse("AccessDeniedException"), operation=durable.sending, by="Worker"
            )

        durable.faults.in_body(body, late)
        durable.run(duration=86_400)

        assert (execution.status, execution.output) == ("completed", "third")


# --- segments ---------------------------------------------------------------------------------------------------------


@workflow
def fills(ctx: Context) -> int:
    for number in range(4):
        ctx.step(f"large {number}", large, semantics="at_most_once")
        ctx.queue.next_batch(f"look {number}", "letters", timeout=0)
    ctx.queue.next_batch("wait", "letters", timeout=60)
    return len(ran)


@pytest.mark.rule("E4", "D2", "E14")
@pytest.mark.parametrize("command", [Execution.pause, Execution.cancel, lambda it: it.send("letters", "hello")])
@pytest.mark.parametrize("steps", [1, 99])
def test_no_key_is_written_twice(steps: int, command: Any) -> None:
    """Whatever comes in between makes a checkpoint be written anew: its segments and values get new keys."""
    with Harness(workflows=[fills], steps_per_invocation=steps) as durable:
        for nth in range(1, 30):
            execution = durable.start(fills)
            came: list[int] = []

            def strike(it: Any = execution, came: list[int] = came) -> None:
                came.append(1)
                with suppress(InvalidState):
                    command(it)

            durable.faults.before(nth, strike, operation="UpdateItem", by="Worker")
            durable.run(duration=120)
            durable.faults.clear()
            if not came:
                break
        puts = [
            (call.item["pk"], call.item["sk"])
            for call in durable.calls
            if call.operation == "PutItem"
            and call.item
            and call.item["sk"].startswith(("history#", "payload#", "state#"))
        ]
        assert len(puts) > 5
        assert [key for key in set(puts) if puts.count(key) > 1] == []


# --- a divergence under a cancel --------------------------------------------------------------------------------------


def saga(*names: str) -> Any:
    @workflow(name="saga")
    def run(ctx: Context) -> None:
        for name in names:
            ctx.step(name, note, rollback=undo)
            ctx.sleep(f"after {name}", 60)

    return run


@pytest.mark.rule("R4", "R12", "R16")
@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_a_step_that_never_began_is_not_rolled_back_after_a_divergence(nth: int) -> None:
    with Harness(workflows=[saga("first", "second")]) as durable:
        execution = durable.start(saga("first", "second"))
        durable.run(duration=30)
        durable.deploy([saga("other", "second")])
        cancelled: list[int] = []
        durable.faults.after(nth, lambda: (execution.cancel(), cancelled.append(1)), by="Worker")
        durable.run(duration=60)
        if not cancelled:
            execution.cancel()
            durable.run(duration=60)
        durable.deploy([saga("first", "second")])
        if execution.status == "diverged":
            execution.resume()
        durable.run()

        assert (execution.status, ran) == ("cancelled", ["first", "undo first"])
