"""What a checker sees of handled failures, blocks, loops and waits; the type stands beside each line."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import assert_never, reveal_type

from durable import Break, Context, Continue, Failure, Queue, Step, Success, Undo


@dataclass
class State:
    total: int = 0


@dataclass
class Order:
    id: str
    total: Decimal


@dataclass
class Receipt:
    id: str


@dataclass
class Payment:
    id: str
    amount: int


payments = Queue("payments", Payment)
approvals = Queue("approvals", Payment, reply=Receipt)


def label(step: Step, order: Order) -> str:
    return order.id


def unlabel(undo: Undo[str], order: Order) -> None: ...
async def alabel(step: Step, order: Order) -> str:
    return order.id


def poll(step: Step, number: int) -> Receipt | None:
    return None


def handled(ctx: Context[State], order: Order) -> None:
    charge = ctx.try_step("t", label, order)
    reveal_type(charge)  # Success[str] | Failure
    if not charge.ok:
        reveal_type(charge.failure.error.message)  # str
    if charge.ok:
        reveal_type(charge.value)  # str
    match charge:
        case Success(value):
            reveal_type(value)  # str
        case Failure(kind, error):
            reveal_type(kind)  # Literal['critical', 'timeout', 'exhausted', 'rollback']
            reveal_type(error)  # ErrorInfo
        case _:
            assert_never(charge)
    match charge:
        case Success():
            reveal_type(charge.value)  # str
        case Failure(kind="timeout"):
            reveal_type(charge.attempts)  # int
        case Failure():
            reveal_type(charge.source)  # Literal['step', 'join', 'race', 'block']
    reveal_type(ctx.try_step("t", alabel, order))  # Success[str] | Failure
    reveal_type(ctx.try_step("t", label, order, catch=["rollback"], rollback=unlabel))  # Success[str] | Failure


def blocks(ctx: Context[State], order: Order) -> None:
    def one(ctx: Context[State], order: Order) -> str:
        return ctx.step("x", label, order)

    def unstated(ctx: Context) -> int:
        return 1

    reveal_type(ctx.try_block("t", one, order))  # Success[str] | Failure
    reveal_type(ctx.try_block("t", unstated))  # Success[int] | Failure
    reveal_type(ctx.try_block("t", lambda ctx: ctx.step("x", label, order)))  # Success[str] | Failure


def loops(ctx: Context[State]) -> None:
    def counts(ctx: Context[State], n: int) -> Continue[int] | Break[str]:
        return Break("done") if n > 3 else Continue(n + 1)

    def looks(ctx: Context[State]) -> Break[Receipt] | None:
        return None

    def ends(ctx: Context[State], n: int) -> Break[None] | Continue[int]:
        return Break()

    def collects(ctx: Context[State], items: list[str]) -> Continue[list[str]] | Break[str]:
        return Continue([*items, "x"])

    reveal_type(ctx.loop("l", counts, state=0))  # str
    reveal_type(ctx.loop("l", looks))  # Receipt
    reveal_type(ctx.loop("l", ends, state=0))  # None
    reveal_type(ctx.loop("l", collects, state=list[str]()))  # str
    reveal_type(ctx.loop("l", lambda ctx, n: Break(n) if n > 2 else Continue(n + 1), state=0))  # int


def endless(ctx: Context[State]) -> None:
    def sleeps(ctx: Context[State]) -> None:
        ctx.sleep("s", 1)

    reveal_type(ctx.loop("l", sleeps))  # None


def endless_with_a_state(ctx: Context[State]) -> None:
    def counts(ctx: Context[State], n: int) -> Continue[int]:
        return Continue(n + 1)

    reveal_type(ctx.loop("l", counts, state=0))  # None


def waits(ctx: Context[State]) -> None:
    reveal_type(ctx.queue.next("q"))  # Message[Any]
    reveal_type(ctx.queue.next("q", "payments", body=Payment, timeout=30).body)  # Payment
    reveal_type(ctx.queue.next("q", payments).body)  # Payment
    reveal_type(ctx.queue.next("q", approvals, completable=True))  # Message[Payment]
    reveal_type(ctx.queue.next_batch("q", "payments", body=Payment, count=10, timeout=30))  # list[Message[Payment]]
    reveal_type(ctx.queue.next_batch("q", payments))  # list[Message[Payment]]
    reveal_type([message.body for message in ctx.queue.next_batch("q", body=Payment)])  # list[Payment]
    reveal_type(ctx.wait_for("w", poll, 1, every=5))  # Receipt
    reveal_type(ctx.wait_for("w", lambda step: True, every=5))  # bool
    reveal_type(ctx.version("v", 2))  # int
    reveal_type(ctx.now())  # datetime
    reveal_type(ctx.uuid())  # UUID
    reveal_type(ctx.random().choice([1, 2]))  # int
