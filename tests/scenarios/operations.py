"""Every kind of operation that a workflow can pass between two steps, for the tests of what a rollback finds.

Each returns something plain, which the next step is given: what the code knows after an operation is the same in the
forward direction and in the replay that collects the rollbacks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from durable import (
    Break,
    CodecError,
    Context,
    Continue,
    Execution,
    InvalidInput,
    QueueTimeout,
    Retry,
    Step,
    StepFailed,
    TerminalError,
    Undo,
)
from durable.testing.clock import START

Rollback = Callable[[Undo[Any]], object]
Run = Callable[[Context, Rollback], object]


@dataclass(frozen=True)
class Operation:
    """One operation, or a few that belong together, as workflow code writes them."""

    name: str
    run: Run
    sent: tuple[object, ...] = ()  # messages that the execution is sent to its queue `inbox` as soon as it exists
    undone: tuple[tuple[str, str], ...] = ()  # path and status of its own steps with a rollback, last started first
    commits: bool = False  # a rollback checkpoint: what stands before it is not rolled back

    def prepare(self, execution: Execution[Any, Any]) -> None:
        """Send what the operation waits for."""
        for body in self.sent:
            execution.send("inbox", body)

    def __str__(self) -> str:
        return self.name


def value(step: Step) -> str:
    return f"value of {step.name}"


def refused(step: Step) -> str:
    raise TerminalError("no")


def broken(step: Step) -> str:
    raise ConnectionError("no line")


def third(step: Step) -> str | None:
    """What a check finds at its third look."""
    return "there" if "[2]" in step.path else None


def nothing(step: Step) -> str | None:
    return None


# --- one function for each operation -----------------------------------------------------------------------------------


def sleep_past(ctx: Context, undo: Rollback) -> None:
    ctx.sleep_until("x", START - timedelta(days=1))


def sleep_now(ctx: Context, undo: Rollback) -> None:
    ctx.sleep_until("x", ctx.now())


def several_sleeps(ctx: Context, undo: Rollback) -> None:
    for seconds in (0, 30, 0, 0):
        ctx.sleep("x", seconds)


def receive(**options: Any) -> Run:
    def run(ctx: Context, undo: Rollback) -> object:
        try:
            return ctx.queue.next("x", "inbox", **options).body
        except (QueueTimeout, InvalidInput) as error:
            return type(error).__name__

    return run


def receive_batch(**options: Any) -> Run:
    return lambda ctx, undo: [message.body for message in ctx.queue.next_batch("x", "inbox", **options)]


def complete(ctx: Context, undo: Rollback) -> object:
    message = ctx.queue.next("x", "inbox", completable=True)
    message.complete("taken")
    return message.body


def complete_all(ctx: Context, undo: Rollback) -> None:
    for message in ctx.queue.next_batch("x", "inbox", count=2, completable=True):
        message.complete(message.body)


def complete_in_block(ctx: Context, undo: Rollback) -> object:
    message = ctx.queue.next("x", "inbox", completable=True)
    ctx.try_block("inner", lambda ctx: message.complete("taken"))
    return message.body


def complete_in_loop(ctx: Context, undo: Rollback) -> object:
    message = ctx.queue.next("x", "inbox", completable=True)

    def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
        if number == 1:
            message.complete("taken")
        return Continue(number + 1) if number < 2 else Break(number)

    return ctx.loop("inner", turn, state=0)


def complete_later(ctx: Context, undo: Rollback) -> object:
    message = ctx.queue.next("x", "inbox", completable=True)
    done = ctx.step("between", value)
    message.complete(done)
    return done


def complete_badly(ctx: Context, undo: Rollback) -> str:
    message = ctx.queue.next("x", "inbox", completable=True)
    try:
        message.complete(object())
    except CodecError as error:
        return str(error)
    return "taken"


def two_gates(ctx: Context, undo: Rollback) -> list[int]:
    return [ctx.version("x", 2), ctx.version("y", 5)]


def checkpoint(ctx: Context, undo: Rollback) -> None:
    ctx.rollback_checkpoint("x")


def removed(kind: str) -> Run:
    return lambda ctx, undo: ctx.removed("x", kind)


def block(ctx: Context, undo: Rollback) -> object:
    return ctx.try_block("x", lambda ctx: ctx.step("inner", value, rollback=undo)).value


def empty_block(ctx: Context, undo: Rollback) -> object:
    return ctx.try_block("x", lambda ctx: "nothing durable").value


def failed_block(ctx: Context, undo: Rollback) -> str:
    return str(ctx.try_block("x", lambda ctx: ctx.step("inner", refused, rollback=undo)).failure.error)


def nested_blocks(ctx: Context, undo: Rollback) -> object:
    def inner(ctx: Context) -> object:
        ctx.sleep("z", 0)
        return ctx.step("inner", value, rollback=undo)

    return ctx.try_block("x", lambda ctx: ctx.try_block("y", inner).value).value


def loop(**options: Any) -> Run:
    def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.step("inner", lambda step: step.path)
        return Continue(number + 1) if number < 4 else Break(number)

    return lambda ctx, undo: ctx.loop("x", turn, state=0, **options)


def loop_with_rollbacks(ctx: Context, undo: Rollback) -> object:
    def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.step("inner", value, rollback=undo)
        ctx.sleep("pause", 0)
        return Continue(number + 1) if number < 1 else Break(number)

    return ctx.loop("x", turn, state=0, prune_every=1)


def loop_of_nothing(ctx: Context, undo: Rollback) -> object:
    return ctx.loop("x", lambda ctx, number: Continue(number + 1) if number < 3 else Break(number), state=0)


def loop_without_state(ctx: Context, undo: Rollback) -> object:
    return ctx.loop("x", lambda ctx: Break("done"))


def loop_in_loop(ctx: Context, undo: Rollback) -> object:
    def outer(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.loop("inner", lambda ctx: Break(ctx.sleep("pause", 0)))
        return Continue(number + 1) if number < 2 else Break(number)

    return ctx.loop("x", outer, state=0, prune_every=1)


def wait_in_vain(ctx: Context, undo: Rollback) -> str:
    try:
        return ctx.wait_for("x", nothing, every=60, timeout=90)
    except StepFailed as error:
        return error.kind


def caught_step(ctx: Context, undo: Rollback) -> str:
    try:
        return ctx.step("x", refused, rollback=undo)
    except StepFailed as error:
        return str(error.error)


def tried_step(run: Callable[[Step], str], retry: Retry | None = None) -> Run:
    return lambda ctx, undo: str(ctx.try_step("x", run, rollback=undo, retry=retry))


def deterministic(ctx: Context, undo: Rollback) -> list[str]:
    ctx.sleep("x", 0)
    found = [str(ctx.now()), str(ctx.uuid()), str(ctx.random().random())]
    ctx.sleep("y", 30)
    return [*found, str(ctx.now()), str(ctx.uuid()), str(ctx.random().random())]


def everything(ctx: Context, undo: Rollback) -> list[str]:
    parts = (sleep_past, complete, two_gates, loop_in_loop, wait_in_vain, caught_step, deterministic)
    return [str(ctx.try_block(part.__name__, part, undo).value) for part in parts]


OPERATIONS = (
    Operation("nothing at all", lambda ctx, undo: None),
    Operation("a sleep of zero", lambda ctx, undo: ctx.sleep("x", 0)),
    Operation("a sleep of a zero timedelta", lambda ctx, undo: ctx.sleep("x", timedelta(0))),
    Operation("a sleep until a past moment", sleep_past),
    Operation("a sleep until now", sleep_now),
    Operation("a sleep that has passed", lambda ctx, undo: ctx.sleep("x", 60)),
    Operation("a long sleep that has passed", lambda ctx, undo: ctx.sleep("x", timedelta(hours=5))),
    Operation("several sleeps", several_sleeps),
    Operation("a message", receive(), sent=("hello",)),
    Operation("a message with a timeout", receive(timeout=60), sent=("hello",)),
    Operation("a message that does not fit", receive(body=int), sent=("hello",)),
    Operation("a wait for a message that timed out", receive(timeout=60)),
    Operation("a wait for a message without time", receive(timeout=0)),
    Operation("a batch of messages", receive_batch(count=3), sent=("one", "two")),
    Operation("a batch that timed out", receive_batch(count=3, timeout=60)),
    Operation("a batch without time", receive_batch(timeout=0)),
    Operation("a completed message", complete, sent=("hello",)),
    Operation("a completed batch", complete_all, sent=("one", "two")),
    Operation("a message completed in a block", complete_in_block, sent=("hello",)),
    Operation("a message completed in a loop", complete_in_loop, sent=("hello",)),
    Operation("a message completed after a step", complete_later, sent=("hello",)),
    Operation("a response that was refused", complete_badly, sent=("hello",)),
    Operation("a version gate", lambda ctx, undo: ctx.version("x", 3)),
    Operation("two version gates", two_gates),
    Operation("a rollback checkpoint", checkpoint, commits=True),
    Operation("a removed step", removed("step")),
    Operation("a removed loop", removed("loop")),
    Operation("a block", block, undone=(("x/inner", "completed"),)),
    Operation("a block of nothing", empty_block),
    Operation("a block that failed", failed_block, undone=(("x/inner", "failed"),)),
    Operation("a block in a block", nested_blocks, undone=(("x/y/inner", "completed"),)),
    Operation("a loop", loop()),
    Operation("a loop that forgot", loop(prune_every=2, keep=1)),
    Operation("a loop of nothing", loop_of_nothing),
    Operation("a loop without state", loop_without_state),
    Operation("a loop in a loop", loop_in_loop),
    Operation(
        "a loop with rollbacks",
        loop_with_rollbacks,
        undone=(("x[1]/inner", "completed"), ("x[0]/inner", "completed")),
    ),
    Operation("a wait_for of one look", lambda ctx, undo: ctx.wait_for("x", value, every=60)),
    Operation("a wait_for of three looks", lambda ctx, undo: ctx.wait_for("x", third, every=60)),
    Operation("a wait_for that timed out", wait_in_vain),
    Operation("a step", lambda ctx, undo: ctx.step("x", value)),
    Operation(
        "a step at most once",
        lambda ctx, undo: ctx.step("x", value, semantics="at_most_once", retry=Retry(1, backoff_base=60)),
    ),
    Operation("a caught step", caught_step, undone=(("x", "failed"),)),
    Operation("a tried step", tried_step(value), undone=(("x", "completed"),)),
    Operation("a tried step that failed", tried_step(refused), undone=(("x", "failed"),)),
    Operation(
        "a tried step that was exhausted", tried_step(broken, Retry(1, backoff_base=60)), undone=(("x", "failed"),)
    ),
    Operation("now, uuid and random", deterministic),
    Operation("everything at once", everything, sent=("hello",), undone=(("caught_step/x", "failed"),)),
)
