"""Workflows to explore, and what may befall their executions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from durable import (
    Break,
    Context,
    Continue,
    Execution,
    QueueTimeout,
    Retry,
    Step,
    TerminalError,
    Undo,
    Workflow,
    workflow,
)

Command = Callable[[Execution[Any, Any]], object]

COMMANDS: dict[str, Command] = {
    "cancel": lambda execution: execution.cancel(),
    "terminate": lambda execution: execution.terminate(),
    "pause": lambda execution: execution.pause(),
    "resume": lambda execution: execution.resume(),
    "send": lambda execution: execution.send("inbox", "hello", message_id="m-1"),
}


@dataclass(frozen=True)
class Case:
    """A workflow, and the bound of what may happen to one execution of it."""

    workflow: Workflow[Any, Any, Any]
    undoable: tuple[str, ...]  # the paths of the steps with a rollback
    commands: tuple[str, ...] = ()  # each at most once, at any moment
    faults: int = 0  # deaths, lost answers, refusals
    duplicates: int = 0  # second deliveries of a message
    losses: int = 0  # messages that vanish
    preemptions: int = 1  # how often one that could go on is left for another, before all are at rest again
    actors: int = 2  # at once
    steps: int = 1  # of an invocation
    receives: int = 0  # of a message before it is a dead letter; 0: for ever

    def but(self, **changes: Any) -> Case:
        """Return the case with other bounds."""
        return replace(self, **changes)


def do(step: Step) -> str:
    """Nothing that anybody sees: that it began is noted where it begins."""
    return step.path


def undo(undo: Undo[str | None]) -> None:
    """Nothing that anybody sees."""


def refuse(step: Step) -> None:
    raise TerminalError("no")


def flaky(step: Step) -> str:
    if step.attempt == 1:
        raise ConnectionError("try again")
    return step.path


@workflow
def two_steps(ctx: Context) -> str:
    ctx.step("a", do, rollback=undo)
    return ctx.step("b", do, rollback=undo)


@workflow
def fails(ctx: Context) -> None:
    ctx.step("a", do, rollback=undo)
    ctx.step("b", refuse, rollback=undo)


@workflow
def sleeps(ctx: Context) -> str:
    ctx.step("a", do, rollback=undo)
    ctx.sleep("nap", 0)
    ctx.sleep("sleep", 60)
    return ctx.step("b", do, rollback=undo)


@workflow
def waits(ctx: Context) -> str:
    ctx.step("a", do, rollback=undo)
    message = ctx.queue.next("ask", "inbox", completable=True)
    message.complete("taken")
    ctx.step("b", do, rollback=undo)
    return str(message.body)


@workflow
def waits_for_a_while(ctx: Context) -> str:
    try:
        body = ctx.queue.next("ask", "inbox", timeout=60).body
    except QueueTimeout:
        body = "nothing"
    ctx.step("b", do, rollback=undo)
    return str(body)


@workflow
def retries(ctx: Context) -> str:
    ctx.step("a", flaky, rollback=undo, retry=Retry(2, backoff_base=60, jitter=False))
    return ctx.step("b", do, rollback=undo, semantics="at_most_once")


@workflow
def loops(ctx: Context) -> int:
    """The first loop forgets its iterations, the second holds a rollback in each."""

    def look(ctx: Context) -> Break[None] | None:
        return Break(None) if ctx.step("look", do) == "looks[1]/look" else None

    def turn(ctx: Context, number: int) -> Continue[int] | Break[int]:
        ctx.step("charge", do, rollback=undo)
        return Continue(number + 1) if number < 1 else Break(number)

    ctx.loop("looks", look, prune_every=1)
    return ctx.loop("turns", turn, state=0, prune_every=1)


SAGA = Case(two_steps, ("a", "b"))
FAILS = Case(fails, ("a", "b"))
SLEEPS = Case(sleeps, ("a", "b"))
WAITS = Case(waits, ("a", "b"), commands=("send",))
WAITS_FOR_A_WHILE = Case(waits_for_a_while, ("b",), commands=("send",))
RETRIES = Case(retries, ("a", "b"))
LOOPS = Case(loops, ("turns[0]/charge", "turns[1]/charge"))
