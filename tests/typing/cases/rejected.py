# pyright: basic
"""What a checker must reject: every line that is marked, and no other."""

from __future__ import annotations

from decimal import Decimal

from durable import Action, Client, Context, Continue, Retry, Step, Undo
from tests.typing.cases.executions import Order, Payment, Receipt, checkout, payments, set_status, without_input
from tests.typing.cases.steps import Charge, State, acharge, charge, refund, with_required_kwonly


class Other: ...


def other_state(step: Step[Other], n: int) -> int:
    return n


def no_step(card: str, total: Decimal) -> Charge:
    return Charge(card)


def refund_other_output(undo: Undo[int], card: str, total: Decimal) -> None: ...
def refund_few_arguments(undo: Undo[Charge], card: str) -> None: ...
def refund_other_argument(undo: Undo[Charge], card: int, total: Decimal) -> None: ...


def steps(ctx: Context[State], d: Decimal) -> None:
    ctx.step("an argument of another type", charge, "c", 1.5)  # rejected
    ctx.step("an argument left out", charge, "c")  # rejected
    ctx.step("an argument too many", charge, "c", d, 3)  # rejected
    ctx.step("a rollback of another output", charge, "c", d, rollback=refund_other_output)  # rejected
    ctx.step("a rollback of fewer arguments", charge, "c", d, rollback=refund_few_arguments)  # rejected
    ctx.step("a rollback of other arguments", charge, "c", d, rollback=refund_other_argument)  # rejected
    ctx.step("a rollback for an async body", acharge, "c", d, rollback=refund_other_output)  # rejected
    ctx.step("a body without a step", no_step, "c", d)  # rejected
    ctx.step("called and not passed", charge(None, "c", d))  # rejected
    ctx.step("a keyword for the body", charge, "c", total=d)  # rejected
    ctx.step("a keyword that is required", with_required_kwonly, "c")  # rejected
    ctx.step("a step of another state", other_state, 1)  # rejected
    ctx.step(charge, "c", d)  # rejected
    ctx.step("rollback and body swapped", refund, "c", d)  # rejected
    ctx.step("retry as a number", charge, "c", d, retry=3)  # rejected
    ctx.step("unchecked", charge, "c", d, rollback=lambda undo, card, total: undo.output.id)  # rejected
    number: int = ctx.step("assigned to another type", charge, "c", d)  # rejected
    del number


def only_in_steps(ctx: Context[State]) -> None:
    repr(ctx.state)  # rejected
    repr(ctx.client)  # rejected
    repr(ctx.db)  # rejected


def loops(ctx: Context[State]) -> None:
    def none_with_a_state(ctx: Context[State], n: int) -> Continue[int] | None:
        return None

    def another_state(ctx: Context[State], n: int) -> Continue[str]:
        return Continue("x")

    ctx.loop("l", none_with_a_state, state=0)  # rejected
    ctx.loop("l", another_state, state=0)  # rejected


def clients(client: Client, order: Order) -> None:
    execution = client.start(checkout, order)
    client.start(checkout, 3)  # rejected
    client.start(checkout)  # rejected
    client.start(without_input, 3)  # rejected
    execution.action(set_status, 3)  # rejected
    execution.action(set_status)  # rejected
    execution.send(payments, 3)  # rejected
    receipt: Receipt = execution.send(payments, Payment(1), wait=3)  # rejected
    del receipt


def decorated() -> None:
    @checkout.action  # rejected
    def another_state(action: Action[Order]) -> None: ...

    del another_state
    Retry(max_retries="3")  # rejected
