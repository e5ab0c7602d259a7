"""What a checker sees of steps and their rollbacks; the type stands beside each line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar, TypeVarTuple, reveal_type

from durable import Context, Retry, Step, Undo

T = TypeVar("T")
S = TypeVar("S")
Ts = TypeVarTuple("Ts")


@dataclass
class State:
    status: str = "new"
    total: int = 0


@dataclass
class Charge:
    id: str


def charge(step: Step, card: str, total: Decimal) -> Charge:
    return Charge(card)


def refund(undo: Undo[Charge], card: str, total: Decimal) -> None: ...
async def acharge(step: Step, card: str, total: Decimal) -> Charge:
    return Charge(card)


async def arefund(undo: Undo[Charge], card: str, total: Decimal) -> None: ...
async def adefault(step: Step, card: str, total: Decimal = Decimal(1)) -> Charge:
    return Charge(card)


async def undo_adefault(undo: Undo[Charge], card: str, total: Decimal = Decimal(1)) -> None: ...
def refund_bare(undo: Undo[Any], *args: object) -> None: ...
def refund_sequence(undo: Undo[Sequence[str]], n: int) -> None: ...
def with_default(step: Step, card: str, currency: str = "EUR") -> Charge:
    return Charge(card)


def undo_default(undo: Undo[Charge], card: str, currency: str = "EUR") -> None: ...
def with_kwonly(step: Step, card: str, *, currency: str = "EUR") -> Charge:
    return Charge(card)


def with_required_kwonly(step: Step, card: str, *, currency: str) -> Charge:
    return Charge(card)


def var_args(step: Step, *cards: str) -> int:
    return len(cards)


def nothing(step: Step, card: str) -> None: ...
def undo_nothing(undo: Undo[None], card: str) -> None: ...
def generic(step: Step, x: T) -> list[T]:
    return [x]


def names(step: Step, n: int) -> list[str]:
    return []


def typed_state(step: Step[State], n: int) -> int:
    return step.state.total


def optional(step: Step, n: int) -> Charge | None:
    return None


def anything() -> Any: ...


class Service:
    def charge(self, step: Step, card: str) -> Charge:
        return Charge(card)

    def refund(self, undo: Undo[Charge], card: str) -> None: ...
    async def go(self, step: Step[State], card: str, n: int = 3) -> Charge:
        return Charge(card)

    async def back(self, undo: Undo[Charge, State], card: str, n: int = 3) -> None: ...
    def __call__(self, step: Step, card: str) -> Charge:
        return Charge(card)

    @classmethod
    def make(cls, step: Step, card: str) -> Service:
        return cls()

    @staticmethod
    def static(step: Step, card: str) -> int:
        return 1


def plain(ctx: Context[State], d: Decimal, service: Service) -> None:
    reveal_type(ctx.step("s", charge, "c", d))  # Charge
    reveal_type(ctx.step("s", charge, "c", d, rollback=refund, retry=Retry(3)))  # Charge
    reveal_type(ctx.step("s", charge, "c", d, timeout=20))  # Charge
    reveal_type(ctx.step("s", charge, *("c", d)))  # Charge
    reveal_type(ctx.step("s", service.charge, "c", rollback=service.refund))  # Charge
    reveal_type(ctx.step("s", service, "c"))  # Charge
    reveal_type(ctx.step("s", Service.make, "c"))  # Service
    reveal_type(ctx.step("s", Service.static, "c"))  # int
    reveal_type(ctx.step("s", with_default, "c"))  # Charge
    reveal_type(ctx.step("s", with_default, "c", "USD"))  # Charge
    reveal_type(ctx.step("s", with_default, "c", rollback=undo_default))  # Charge
    reveal_type(ctx.step("s", with_kwonly, "c"))  # Charge
    reveal_type(ctx.step("s", partial(charge, card="c", total=d)))  # Charge
    reveal_type(ctx.step("s", partial(with_required_kwonly, currency="USD"), "c"))  # Charge
    reveal_type(ctx.step("s", var_args, "a", "b", "c"))  # int
    reveal_type(ctx.step("s", nothing, "c"))  # None
    reveal_type(ctx.step("s", nothing, "c", rollback=undo_nothing))  # None
    reveal_type(ctx.step("s", generic, 1))  # list[int]
    reveal_type(ctx.step("s", names, 1, rollback=refund_sequence))  # list[str]
    reveal_type(ctx.step("s", typed_state, 1))  # int
    reveal_type(ctx.step("s", optional, 1))  # Charge | None


def asynchronous(ctx: Context[State], d: Decimal, service: Service) -> None:
    reveal_type(ctx.step("s", acharge, "c", d))  # Charge
    reveal_type(ctx.step("s", acharge, "c", d, rollback=arefund))  # Charge
    reveal_type(ctx.step("s", acharge, "c", d, retry=Retry(max_retries=3)))  # Charge
    reveal_type(ctx.step("s", adefault, "c"))  # Charge
    reveal_type(ctx.step("s", adefault, "c", rollback=undo_adefault))  # Charge
    reveal_type(ctx.step("s", service.go, "c", rollback=service.back))  # Charge
    reveal_type(ctx.step("s", service.go, "c", 4, rollback=service.back))  # Charge
    reveal_type(ctx.step("s", partial(acharge, total=d), "c"))  # Charge
    reveal_type(ctx.step("s", lambda step: acharge(step, "c", d)))  # Charge


def lambdas(ctx: Context[State], d: Decimal) -> None:
    reveal_type(ctx.step("s", lambda step: 1))  # int
    reveal_type(ctx.step("s", lambda step: None))  # None
    reveal_type(ctx.step("s", lambda step: charge(step, "c", d)))  # Charge
    reveal_type(ctx.step("s", lambda step, c, t: charge(step, f"{c}!", t), "c", d))  # Charge
    reveal_type(ctx.step("s", lambda step: step.state.total))  # int
    reveal_type(ctx.step("s", lambda step: step.state))  # State
    reveal_type(ctx.step("s", lambda step: [Charge(c) for c in "ab"]))  # list[Charge]
    reveal_type(ctx.step("s", lambda step: charge(step, "c", d), rollback=lambda undo: None))  # Charge; mypy: Any
    reveal_type(ctx.step("s", charge, "c", d, rollback=lambda undo, card, total: undo.output))  # Charge; mypy: Any


def returning(ctx: Context[State]) -> None:
    reveal_type(ctx.step("s", lambda step: anything(), returns=Charge))  # Charge
    reveal_type(ctx.step("s", lambda step: anything(), returns=list[Charge]))  # list[Charge]
    reveal_type(ctx.step("s", lambda step: step.vars["x"], returns=dict[str, list[Charge]]))  # dict[str, list[Charge]]


def with_any_undo(ctx: Context[State], d: Decimal) -> None:
    reveal_type(ctx.step("s", charge, "c", d, rollback=refund_bare))  # Charge; mypy: Any


def logged(ctx: Context[S], name: str, run: Callable[[Step[S], *Ts], T], *args: *Ts) -> T:
    ctx.log.info(name)
    return ctx.step(name, run, *args)


def charged(ctx: Context[Any], card: str, total: Decimal) -> Charge:
    return ctx.step("charge", charge, card, total, rollback=refund, retry=Retry(5))


def helpers(ctx: Context[State], d: Decimal) -> None:
    reveal_type(logged(ctx, "s", charge, "c", d))  # Charge
    reveal_type(charged(ctx, "c", d))  # Charge


def in_a_step(step: Step[State], undo: Undo[Charge, State]) -> None:
    reveal_type(step.state)  # State
    reveal_type(step.db.get("key", Charge))  # Charge | None
    reveal_type(step.db.get("key"))  # Any
    reveal_type(step.attempt)  # int
    reveal_type(step.remaining())  # timedelta
    reveal_type(undo.output)  # Charge | None
    reveal_type(undo.status)  # Literal['completed', 'failed', 'unfinished']
    reveal_type(undo.cause.message)  # str
    reveal_type(undo.state.total)  # int
