"""Sagas that go well, that go wrong, and that take their process with them."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from durable import Context, Retry, Step, TerminalError, Undo, workflow

FOR_LONG = 3600  # seconds


@dataclass(frozen=True)
class Order:
    """What is booked, and what becomes of it."""

    amount: int
    fate: str = "none"


@workflow
def order(ctx: Context, wanted: Order) -> int:
    """Two bookings, and the sum of them."""
    first = ctx.step("book", book, wanted.amount, rollback=unbook)
    second = ctx.step("ship", FATES[wanted.fate], wanted.amount, rollback=unbook, retry=Retry(0))
    return first + second


@workflow
def march(ctx: Context, steps: int) -> int:
    """As many steps as are asked for, and so as many invocations."""
    return sum(ctx.step(f"step-{number}", one) for number in range(steps))


@workflow
def stillborn(ctx: Context) -> None:
    """Its process dies before any body starts."""
    tell(ctx.execution_id, "started")
    os._exit(3)


@workflow
def reserve(ctx: Context, table: str) -> str:
    """An item in somebody's own table."""
    return ctx.step("reserve", put, table, rollback=delete)


@workflow
def errands(ctx: Context, text: str) -> str:
    """Something to do at every service that a workflow can use; in the end it waits for longer than a queue can."""
    ctx.step("reserve", put, "seats", rollback=delete)
    twice = ctx.step("write", lambda step: 2 * text)  # too much for an item
    ctx.step("tell", lambda step: step.publish("told", {"length": len(twice)}))
    ctx.step("send", lambda step: step.client.start(march, 1, execution_id=f"{step.execution_id}-other").id)
    ctx.sleep("for-long", FOR_LONG)
    return twice


def put(step: Step, table: str) -> str:
    tell(step.execution_id, f"{step.name} {step.attempt}")
    step.transact({"Put": {"TableName": table, "Item": {"id": {"S": step.execution_id}}}})
    return step.execution_id


def delete(undo: Undo[str], table: str) -> None:
    undo.transact({"Delete": {"TableName": table, "Key": {"id": {"S": undo.execution_id}}}})


def one(step: Step) -> int:
    return 1


def book(step: Step, amount: int) -> int:
    tell(step.execution_id, f"{step.name} {step.attempt}")
    return amount


def unbook(undo: Undo[int], amount: int) -> None:
    tell(undo.execution_id, f"{undo.name} undone: {undo.status} {undo.output}")


def refuse(step: Step, amount: int) -> NoReturn:
    book(step, amount)
    raise TerminalError("nobody ships that")


def wait_to_be_killed(step: Step, amount: int) -> int:
    """The first of its processes waits until it is killed from outside; the next one does the work."""
    victim = trace(step.execution_id, "pid")
    book(step, amount)
    if not victim.exists():
        victim.write_text(str(os.getpid()))
        time.sleep(FOR_LONG)
    return amount


def leave(step: Step, amount: int) -> NoReturn:
    book(step, amount)
    os._exit(3)


def be_killed(step: Step, amount: int) -> int:
    """What the kernel does to a process that is out of memory."""
    book(step, amount)
    os.kill(os.getpid(), signal.SIGKILL)
    return amount


def use_all_memory(step: Step, amount: int) -> int:
    """All that the process may have, and some more."""
    book(step, amount)
    hoard = []
    while True:
        hoard.append(bytearray(1 << 25))


def hold_on(step: Step, amount: int) -> int:
    """Nothing in this process can interrupt it: it keeps the interpreter's lock. Only the function's timeout ends it."""
    book(step, amount)
    ctypes.PyDLL(None).sleep(FOR_LONG)
    return amount


def sleep_on(step: Step, amount: int) -> int:
    """It blocks for longer than any invocation lasts."""
    book(step, amount)
    time.sleep(FOR_LONG)
    return amount


FATES = {
    "none": book,
    "refused": refuse,
    "killed": wait_to_be_killed,
    "exits": leave,
    "killed for its memory": be_killed,
    "out of memory": use_all_memory,
    "holds on": hold_on,
    "sleeps on": sleep_on,
}


def trace(execution_id: str, kind: str) -> Path:
    """A file in which an execution tells something."""
    return Path(os.environ["TRACES"]) / f"{execution_id}.{kind}"


def tell(execution_id: str, what: str) -> None:
    """What a body did."""
    with trace(execution_id, "done").open("a") as file:
        file.write(f"{what}\n")
