"""An order of six steps; beside each stands what undoes it. When the fourth fails, the three before it are undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from durable import Context, Retry, Step, TerminalError, Undo, workflow


@dataclass(frozen=True)
class Item:
    """So many of one thing."""

    sku: str
    quantity: int


@dataclass(frozen=True)
class Basket:
    """Who orders what."""

    customer: str
    items: Sequence[Item]
    total: Decimal
    address: str


@workflow
def place_order(ctx: Context, basket: Basket) -> str:
    ctx.step("validate", validate, basket)
    for item in basket.items:
        ctx.step("reserve", reserve, item, rollback=release)  # reserve, reserve#2, …
    ctx.step("charge", charge, basket.customer, basket.total, rollback=refund, retry=Retry(5))
    parcel = ctx.step("ship", ship, basket.address, rollback=call_back)
    ctx.step("reward", reward, basket.customer, int(basket.total), rollback=take_points)
    ctx.step("confirm", confirm, basket.customer, parcel)
    return parcel


def validate(step: Step, basket: Basket) -> None:
    if not basket.items:
        raise TerminalError("there is nothing in the basket")


def reserve(step: Step, item: Item) -> str:
    return shop.do("reserve", item.sku, item.quantity, key=step.idempotency_key)


def release(undo: Undo[str], item: Item) -> None:
    shop.undo(undo.forward_idempotency_key)


def charge(step: Step, customer: str, total: Decimal) -> str:
    return shop.do("charge", customer, total, key=step.idempotency_key)


def refund(undo: Undo[str], customer: str, total: Decimal) -> None:
    shop.undo(undo.forward_idempotency_key)


def ship(step: Step, address: str) -> str:
    return shop.do("ship", address, key=step.idempotency_key)


def call_back(undo: Undo[str], address: str) -> None:
    shop.undo(undo.forward_idempotency_key)  # the courier may have taken the order before the call failed


def reward(step: Step, customer: str, points: int) -> str:
    return shop.do("reward", customer, points, key=step.idempotency_key)


def take_points(undo: Undo[str], customer: str, points: int) -> None:
    shop.undo(undo.forward_idempotency_key)


def confirm(step: Step, customer: str, parcel: str) -> None:
    shop.do("confirm", customer, parcel, key=step.idempotency_key)


class Shop:
    """Stands in for warehouse, card company, courier and the rest: each takes a key once, and can undo it by the key."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.done: dict[str, str] = {}
        self.no_way_to: set[object] = set()

    def do(self, what: str, *about: object, key: str) -> str:
        """Do something, once for each key; raises TerminalError where it can't be done."""
        if key not in self.done:
            if not self.no_way_to.isdisjoint(about):
                raise TerminalError(f"no way to {what} {about[0]}")
            self.done[key] = " ".join(map(str, [what, *about]))
            self.log.append(self.done[key])
        return self.done[key]

    def undo(self, key: str) -> None:
        """Undo what was done under a key, if anything was."""
        if what := self.done.pop(key, None):
            self.log.append(f"undo {what}")


shop = Shop()
