"""Authorise, then capture: one block, so that a failure of either is one outcome."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from durable import Context, Step, TerminalError, workflow


@dataclass(frozen=True)
class Purchase:
    """What is bought, with which card."""

    id: str
    card: str
    amount: Decimal


@workflow
def purchase(ctx: Context, order: Purchase) -> str:
    result = ctx.try_block("payment", authorize_and_capture, order)
    if result.ok:
        return result.value
    ctx.step("void", void, order)  # catching a failure undoes nothing: that is for us to do
    return f"not paid: {result.failure.error.message}"


def authorize_and_capture(ctx: Context, order: Purchase) -> str:
    authorization = ctx.step("authorize", authorize, order)
    return ctx.step("capture", capture, authorization, order.amount)


def authorize(step: Step, order: Purchase) -> str:
    return bank.authorize(order.id, order.card, order.amount)


def capture(step: Step, authorization: str, amount: Decimal) -> str:
    return bank.capture(authorization, amount)


def void(step: Step, order: Purchase) -> None:
    bank.void(order.id)


class Bank:
    """Stands in for the acquirer: amounts that are authorised, by purchase, and then captured."""

    def __init__(self) -> None:
        self.authorized: dict[str, Decimal] = {}
        self.captured: dict[str, Decimal] = {}
        self.refuses_capture = False

    def authorize(self, purchase: str, card: str, amount: Decimal) -> str:
        """Hold the amount; the purchase's id names it."""
        if not card.startswith("4"):
            raise TerminalError(f"card {card} is not one of ours")
        self.authorized[purchase] = amount
        return purchase

    def capture(self, authorization: str, amount: Decimal) -> str:
        """Take what is held."""
        if self.refuses_capture:
            raise TerminalError("the authorisation has expired")
        self.captured[authorization] = amount
        return f"captured {amount}"

    def void(self, purchase: str) -> None:
        """Let go of what is held, if anything is."""
        self.authorized.pop(purchase, None)


bank = Bank()
