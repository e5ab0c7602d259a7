"""What a checker sees of workflows, clients and executions; the type stands beside each line."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, TypedDict, reveal_type

from durable import Action, Client, Context, Queue, connect, workflow
from durable.testing import Harness


@dataclass
class State:
    status: str = "new"


class Document(TypedDict):
    status: str


@dataclass
class Order:
    id: str
    total: Decimal


@dataclass
class Receipt:
    id: str


@dataclass
class Payment:
    amount: int


payments = Queue("payments", Payment)
approvals = Queue("approvals", Payment, reply=Receipt)


@workflow
def bare(ctx: Context, order: Order) -> Receipt:
    return Receipt(order.id)


@workflow(name="x", version=2)
def named(ctx: Context, order: Order) -> Receipt:
    return Receipt(order.id)


@workflow(name="checkout", version=1, state=State, timeout=timedelta(days=2), on_rollback_failure="halt")
def checkout(ctx: Context[State], order: Order) -> Receipt:
    return Receipt(order.id)


@workflow
def without_input(ctx: Context) -> int:
    return 1


@workflow(state=State)
def without_input_with_state(ctx: Context[State]) -> int:
    return 1


@workflow(state=State)
def bare_context(ctx: Context, order: Order) -> Receipt:
    return Receipt(order.id)


@workflow(state=dict[str, int])
def with_dict(ctx: Context[dict[str, int]], order: Order) -> Receipt:
    return Receipt(order.id)


@workflow(state=lambda: Document(status="new"))
def with_typed_dict(ctx: Context[Document], order: str) -> str:
    return order


@workflow
def with_default(ctx: Context, order: dict[str, Any] | None = None) -> str:
    return ""


@checkout.action
def get_state(action: Action[State]) -> State:
    return action.state


@checkout.action(read_only=False)
def set_status(action: Action[State], status: str) -> None:
    action.state.status = status


def workflows() -> None:
    reveal_type(bare)  # Workflow[Order, Receipt, Any]
    reveal_type(named)  # Workflow[Order, Receipt, Any]
    reveal_type(checkout)  # Workflow[Order, Receipt, State]
    reveal_type(without_input)  # Workflow[None, int, Any]
    reveal_type(without_input_with_state)  # Workflow[None, int, State]
    reveal_type(bare_context)  # Workflow[Order, Receipt, State]
    reveal_type(with_dict)  # Workflow[Order, Receipt, dict[str, int]]
    reveal_type(with_typed_dict)  # Workflow[str, str, Document]
    reveal_type(get_state)  # ActionFunction[State, [], State]
    reveal_type(set_status)  # ActionFunction[State, [status: str], None]


def executions(client: Client, order: Order) -> None:
    execution = client.start(checkout, order, execution_id="order-1")
    reveal_type(execution)  # Execution[Receipt, State]
    reveal_type(execution.output)  # Receipt
    reveal_type(execution.state)  # State
    reveal_type(execution.result(wait=3))  # Receipt
    reveal_type(execution.history[0].status)  # Literal['completed', 'failed', 'retrying', 'waiting', 'unfinished']
    reveal_type(execution.rollback.outcome)  # Literal['none', 'running', 'completed', 'failed']
    reveal_type(execution.error)  # ErrorInfo | None
    reveal_type(execution.action(get_state))  # State
    reveal_type(execution.action("get_state"))  # Any
    reveal_type(execution.send(approvals, Payment(2), wait=3))  # Receipt
    reveal_type(execution.send("payments", Payment(2)))  # Any
    reveal_type(client.start(without_input).output)  # int
    reveal_type(client.start(bare, order).output)  # Receipt
    reveal_type(client.get(checkout, "order-1").output)  # Receipt
    reveal_type(client.get("order-1").output)  # Any
    reveal_type(connect(table="table", queue="queue"))  # Client
    execution.action(set_status, "x")
    execution.send(payments, Payment(2))
    client.start(with_default, None)
    client.start(with_default, {"a": 1})


def tests(durable: Harness, order: Order) -> None:
    execution = durable.start(checkout, order, execution_id="order-1")
    assert execution.status == "pending"
    durable.run()
    assert execution.status == "completed"  # a checker must not hold on to what it was before the run
    reveal_type(execution.output)  # Receipt
