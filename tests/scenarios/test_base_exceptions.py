"""What workflow code raises fails the execution, and it is rolled back: a BaseException as well as an Exception.

Everything but KeyboardInterrupt and the library's own interrupts counts, wherever it is raised. The execution's error is what
left the workflow function; the process lives, nothing is delivered again, and no dead letter comes about.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from durable import Break, Context, Continue, Execution, Retry, Step, StepFailed, TerminalError, Undo, workflow
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("R17", "R3")


class Panic(BaseException):
    """What a library raises that wants no `except Exception` to see it, as pyo3 does."""


def a_panic() -> BaseException:
    return Panic("the library gave up")


RAISED: dict[str, Callable[[], BaseException]] = {
    "Panic": a_panic,
    "CancelledError": lambda: asyncio.CancelledError("cancelled by a library"),
    "GeneratorExit": lambda: GeneratorExit("closed"),
    "SystemExit": lambda: SystemExit("bye"),
    "BaseExceptionGroup": lambda: BaseExceptionGroup("several", [Panic("one"), ValueError("two")]),
    "BaseExceptionGroup in a group": lambda: BaseExceptionGroup("outer", [BaseExceptionGroup("inner", [Panic("one")])]),
    "ValueError": lambda: ValueError("plain"),
}
each_error = pytest.mark.parametrize("make", RAISED.values(), ids=RAISED.keys())


@dataclass
class Saga:
    """A workflow that reserves, and then does something that raises; what ran, in order."""

    rest: Callable[[Context], object]

    def __post_init__(self) -> None:
        self.ran: list[str] = []

    def body(self, step: Step) -> str:
        self.ran.append(step.path)
        return step.path

    def undo(self, undo: Undo[str]) -> None:
        self.ran.append(f"undo {undo.path}")

    def __call__(self, ctx: Context) -> object:
        ctx.step("reserve", self.body, rollback=self.undo)
        return self.rest(ctx)

    def outcome(self, durable: Harness, execution: Execution[Any, Any]) -> tuple[object, ...]:
        strange = [each.function for each in durable.invocations if each.failed or each.function == "DeadLetters"]
        return (execution.status, execution.rollback.outcome, self.ran, strange, durable.messages(None))


DONE = ("failed", "completed", ["reserve", "undo reserve"], [], [])

# --- where it is raised ------------------------------------------------------------------------------------------------


def at_the_root(ctx: Context, error: Callable[[], BaseException]) -> None:
    raise error()


def after_a_sleep(ctx: Context, error: Callable[[], BaseException]) -> None:
    ctx.sleep("pause", 60)
    raise error()


def in_a_block(ctx: Context, error: Callable[[], BaseException]) -> object:
    def block(ctx: Context) -> None:
        ctx.sleep("pause", 60)
        raise error()

    return ctx.try_block("block", block, catch=["critical", "timeout", "exhausted", "rollback"])


def in_a_loop(ctx: Context, error: Callable[[], BaseException]) -> object:
    def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.sleep("pause", 60)
        if number == 2:
            raise error()
        return Continue(number + 1)

    return ctx.loop("loop", turn, state=0, prune_every=1)


def in_a_finally(ctx: Context, error: Callable[[], BaseException]) -> None:
    def refuse(step: Step) -> None:
        raise TerminalError("no")

    try:
        ctx.step("fails", refuse)
    finally:
        if isinstance(sys.exception(), StepFailed):  # and not at a suspension, at which a finally runs too
            raise error()


def in_a_function_that_catches_exception(ctx: Context, error: Callable[[], BaseException]) -> None:
    try:
        ctx.sleep("pause", 60)
        raise error()
    except Exception as caught:
        raise RuntimeError("a plain exception was caught") from caught


@each_error
@pytest.mark.parametrize("steps", [1, 20])
@pytest.mark.parametrize(
    "place",
    [at_the_root, after_a_sleep, in_a_block, in_a_loop, in_a_finally, in_a_function_that_catches_exception],
)
def test_it_fails_the_execution_wherever_it_is_raised(
    place: Callable[[Context, Callable[[], BaseException]], object], make: Callable[[], BaseException], steps: int
) -> None:
    saga = Saga(lambda ctx: place(ctx, make))
    code = Code(saga)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert saga.outcome(durable, execution) == DONE


@each_error
@pytest.mark.rule("R11")
def test_the_error_of_the_execution_is_what_was_raised(make: Callable[[], BaseException]) -> None:
    error = make()
    code = Code(Saga(lambda ctx: at_the_root(ctx, make)))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        raised = error
        while isinstance(raised, BaseExceptionGroup) and len(raised.exceptions) == 1:  # the only one in it is the error
            raised = raised.exceptions[0]
        assert (execution.error.type, execution.error.message) == (type(raised).__name__, str(raised))


@pytest.mark.rule("R2")
def test_code_that_catches_it_goes_on() -> None:
    def rest(ctx: Context) -> str:
        try:
            raise Panic("handled")
        except Panic as panic:
            return ctx.step("note", lambda step, text: text, str(panic))

    saga = Saga(rest)
    code = Code(saga)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.output, saga.ran) == ("completed", "handled", ["reserve"])


# --- in the replay of a rollback ------------------------------------------------------------------------------------------


@each_error
@pytest.mark.rule("R4")
@pytest.mark.parametrize("steps", [1, 20])
def test_code_that_raises_it_only_in_the_replay_of_the_rollback_is_rolled_back(
    make: Callable[[], BaseException], steps: int
) -> None:
    """The replay comes to the end of what is recorded, and there the code of today raises: nothing more can have begun."""
    saga = Saga(lambda ctx: ctx.queue.next("approval", timeout=3_600))
    code = Code(saga)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=60)
        saga.rest = lambda ctx: (ctx.removed("approval", "queue"), at_the_root(ctx, make))
        execution.cancel()
        durable.run()

        assert saga.outcome(durable, execution) == ("cancelled", *DONE[1:])


# --- in other code of the user's ------------------------------------------------------------------------------------------


@each_error
@pytest.mark.rule("S3")
def test_in_a_body_it_is_a_failed_attempt(make: Callable[[], BaseException]) -> None:
    def body(step: Step) -> int:
        if step.attempt < 3:
            raise make()
        return step.attempt

    saga = Saga(lambda ctx: ctx.step("flaky", body, retry=Retry(2, backoff_base=60)))
    code = Code(saga)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.output, saga.outcome(durable, execution)) == (3, ("completed", "none", ["reserve"], [], []))


@each_error
@pytest.mark.rule("R8")
def test_in_a_rollback_it_is_a_failed_attempt(make: Callable[[], BaseException]) -> None:
    attempts: list[int] = []

    def undo(undo: Undo[None]) -> None:
        attempts.append(undo.attempt)
        if undo.attempt < 3:
            raise make()

    def rest(ctx: Context) -> None:
        ctx.step("charge", lambda step: None, rollback=undo)
        raise ValueError("sold out")

    saga = Saga(rest)
    code = Code(saga)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (attempts, saga.outcome(durable, execution)) == ([1, 2, 3], DONE)


@each_error
@pytest.mark.rule("S1", "S17")
def test_in_the_delay_of_a_retry_it_does_not_replace_the_error_of_the_step(make: Callable[[], BaseException]) -> None:
    def delay(attempt: int, error: object) -> float:
        raise make()

    def declined(step: Step) -> None:
        raise ConnectionError("card declined")

    saga = Saga(lambda ctx: ctx.step("charge", declined, retry=Retry(2, delay=delay)))
    code = Code(saga)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert saga.outcome(durable, execution) == DONE
        assert execution.error.type == "ConnectionError"
        assert execution.error.message.startswith("card declined (Retry's delay raised ")


@dataclass
class Question:
    text: str

    def __post_init__(self) -> None:
        if self.text == "panic":
            raise Panic("no such question")


@pytest.mark.rule("Q7")
@pytest.mark.parametrize("batch", [False, True])
def test_in_the_class_of_a_message_it_fails_the_execution(batch: bool) -> None:
    def rest(ctx: Context) -> str:
        if batch:
            return ctx.queue.next_batch("question", "questions", body=Question)[0].body.text
        return ctx.queue.next("question", "questions", body=Question).body.text

    saga = Saga(rest)
    code = Code(saga)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        execution.send("questions", {"text": "panic"})
        durable.run()

        assert saga.outcome(durable, execution) == DONE


@dataclass
class Input:
    text: str

    def __post_init__(self) -> None:
        if self.text == "panic" and Input.panics:
            raise Panic("no such input")


Input.panics = False


@pytest.mark.rule("D6")
def test_in_the_class_of_a_recorded_value_it_is_a_divergence() -> None:
    """The value was good when it was recorded: code that can't read it any more does not fit the history."""

    @workflow
    def order(ctx: Context, given: Input) -> None:
        ctx.sleep("pause", 60)

    with Harness(workflows=[order]) as durable:
        Input.panics = False
        execution = durable.start(order, Input("panic"))
        durable.deliver_once()
        Input.panics = True
        durable.run()
        assert (execution.status, durable.messages(None)) == ("diverged", [])

        Input.panics = False
        execution.resume()
        durable.run()
        assert execution.status == "completed"


# --- what passes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [KeyboardInterrupt, lambda: BaseExceptionGroup("several", [ValueError(), KeyboardInterrupt()])]
)
def test_a_keyboard_interrupt_ends_the_run_and_fails_nothing(make: Callable[[], BaseException]) -> None:
    interrupts = [make()]

    def rest(ctx: Context) -> str:
        if interrupts:
            raise interrupts.pop()
        return "done"

    saga = Saga(rest)
    code = Code(saga)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)):
            durable.run()
        assert execution.status == "running"
        durable.run()

        assert (execution.status, execution.output, saga.ran) == ("completed", "done", ["reserve"])
