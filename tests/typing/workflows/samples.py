"""Short samples, as a user would write them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from durable import Action, Context, Retry, RollbackError, Step, workflow

# --- a payment


@dataclass
class PaymentState:
    status: Literal["pending", "manual-review", "paid"] = "pending"
    reason: str | None = None


@workflow(state=PaymentState)
def payment_actor(ctx: Context[PaymentState]) -> None:
    charge = ctx.try_step("charge-card", lambda step: charge_card("order-123"), retry=Retry(max_retries=3))

    def store_charge_result(step: Step[PaymentState]) -> None:
        if not charge.ok:
            step.state.status = "manual-review"
            step.state.reason = charge.failure.error.message
            return
        step.state.status = "paid"
        step.state.reason = None

    ctx.step("store-charge-result", store_charge_result)


@payment_actor.action
def get_state(action: Action[PaymentState]) -> PaymentState:
    return action.state


def charge_card(order_id: str) -> str:
    return f"charge-{order_id}"


# --- blocks and what they catch


def run_payment_flow(ctx: Context) -> Any:
    def block(block_ctx: Context) -> dict[str, str]:
        auth = block_ctx.step("authorize", lambda step: authorize_order("order-123"))
        capture = block_ctx.step("capture", lambda step: capture_order("order-123"))
        return {"auth": auth, "capture": capture}

    return ctx.try_block("payment-flow", block)


def authorize_order(order_id: str) -> str:
    return f"auth-{order_id}"


def capture_order(order_id: str) -> str:
    return f"capture-{order_id}"


def catches(ctx: Context) -> None:
    def boom(step: Step) -> int:
        raise RollbackError("x")

    result = ctx.try_step("x", boom, catch=["critical", "timeout", "exhausted", "rollback"])
    if result.failure.kind == "rollback":
        ...


# --- a loop over a queue


@dataclass
class PaymentMessage:
    id: str
    amount: int


@dataclass
class Plan:
    payment_id: str
    amount: int


@dataclass
class Totals:
    applied_count: int = 0
    total_amount: int = 0
    last_payment_id: str | None = None


@workflow(state=Totals)
def checkpoint_friendly_actor(ctx: Context[Totals]) -> None:
    def payment_loop(ctx: Context[Totals]) -> None:
        messages = ctx.queue.next_batch("wait-payment", body=PaymentMessage, timeout=30)
        if not messages:
            return
        payment = messages[0].body
        ctx.rollback_checkpoint("apply-payment-checkpoint")
        plan = ctx.step("build-plan", lambda step: build_payment_plan(payment))

        def apply(step: Step[Totals]) -> None:
            step.state.applied_count += 1
            step.state.total_amount += plan.amount
            step.state.last_payment_id = plan.payment_id

        ctx.step("apply-side-effects", apply)

    ctx.loop("payment-loop", payment_loop)


def build_payment_plan(payment: PaymentMessage) -> Plan:
    return Plan(payment.id, payment.amount)


# --- a debit


@dataclass
class Debit:
    id: str


class Bank:
    def debit(self, account: str, amount: Decimal) -> Debit:
        return Debit(f"{amount} from {account}")

    def credit(self, account: str, amount: Decimal, reference: str | None) -> None:
        """Pays."""


bank_a = Bank()


def debit(ctx: Context, source: str, amount: Decimal) -> None:
    ctx.step(
        "debit-bank-a",
        lambda step: bank_a.debit(source, amount),
        rollback=lambda undo: bank_a.credit(source, amount, undo.output and undo.output.id),
    )
