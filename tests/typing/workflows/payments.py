"""A loop over a queue, a handled failure, a block."""

from __future__ import annotations

from dataclasses import dataclass

from durable import Action, Context, Step, workflow


@dataclass
class Payment:
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
def payments(ctx: Context[Totals]) -> None:
    ctx.loop("payment-loop", apply_payment)


def apply_payment(ctx: Context[Totals]) -> None:
    for message in ctx.queue.next_batch("wait-payment", body=Payment, timeout=30):
        ctx.rollback_checkpoint("apply-payment-checkpoint")
        plan = ctx.step("build-plan", build_plan, message.body)
        ctx.step("apply-side-effects", apply, plan)


def build_plan(step: Step, payment: Payment) -> Plan:
    return Plan(payment.id, payment.amount)


def apply(step: Step[Totals], plan: Plan) -> None:
    step.state.applied_count += 1
    step.state.total_amount += plan.amount
    step.state.last_payment_id = plan.payment_id


@payments.action
def get_state(action: Action[Totals]) -> Totals:
    return action.state


@dataclass
class PaymentState:
    status: str = "pending"
    reason: str | None = None


@workflow(state=PaymentState)
def payment(ctx: Context[PaymentState]) -> None:
    charge = ctx.try_step("charge-card", lambda step: charge_card("order-123"))

    def store(step: Step[PaymentState]) -> None:
        if not charge.ok:
            step.state.status = "manual-review"
            step.state.reason = charge.failure.error.message
            return
        step.state.status = "paid"
        step.state.reason = None

    ctx.step("store-charge-result", store)


def charge_card(order_id: str) -> str:
    return f"charge-{order_id}"


@workflow
def payment_flow(ctx: Context) -> dict[str, str]:
    def flow(ctx: Context) -> dict[str, str]:
        auth = ctx.step("authorize", lambda step: f"auth-{1}")
        capture = ctx.step("capture", lambda step: f"capture-{1}")
        return {"auth": auth, "capture": capture}

    result = ctx.try_block("payment-flow", flow)
    return result.value if result.ok else {"failed": result.failure.error.message}
