"""A payment whose card may be refused: then a person looks at it, and the execution ends well all the same."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from durable import Action, Context, Failure, Retry, Step, Success, TerminalError, workflow


@dataclass(frozen=True)
class Order:
    """What is paid, with which card."""

    id: str
    card: str
    amount: Decimal


@dataclass
class Payment:
    """The state of a payment, as everybody may see it."""

    status: Literal["pending", "paid", "manual-review"] = "pending"
    note: str = ""


@workflow(state=Payment)
def payment(ctx: Context[Payment], order: Order) -> None:
    match ctx.try_step("charge-card", charge_card, order, retry=Retry(3)):
        case Success(receipt):
            ctx.step("store-result", store_result, "paid", receipt)
        case Failure(error=error):
            ctx.step("store-result", store_result, "manual-review", error.message)


def charge_card(step: Step[Payment], order: Order) -> str:
    return cards.charge(order.card, order.amount, key=step.idempotency_key)


def store_result(step: Step[Payment], status: Literal["paid", "manual-review"], note: str) -> None:
    step.state.status = status
    step.state.note = note


@payment.action
def get_state(action: Action[Payment]) -> Payment:
    return action.state


class Cards:
    """Stands in for the card company: it takes each key once."""

    def __init__(self) -> None:
        self.refused: set[str] = set()
        self.receipts: dict[str, str] = {}

    def charge(self, card: str, amount: Decimal, *, key: str) -> str:
        """The receipt; raises TerminalError when the card is refused."""
        if card in self.refused:
            raise TerminalError(f"card {card} was refused")
        return self.receipts.setdefault(key, f"{amount} from {card}")


cards = Cards()
