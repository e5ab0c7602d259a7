"""A pipeline, an agent with tools, an approval."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal

from durable import Break, Context, Continue, Failure, Queue, QueueTimeout, Retry, Step, Success, Undo, workflow


@dataclass(frozen=True)
class Document:
    id: str
    text: str


Vector = list[float]


async def embed(step: Step, text: str, model: str = "small") -> Vector:
    return [0.0]


def store(step: Step, document: Document, vector: Vector) -> str:
    return "row"


def unstore(undo: Undo[str], document: Document, vector: Vector) -> None: ...
def index(step: Step, row: str) -> int:
    return 1


def unindex(undo: Undo[int], row: str) -> None: ...
def notify(step: Step, document: Document) -> None:
    step.queue.send("training", {"document": document.id})


@workflow(name="ingest")
def ingest(ctx: Context, document: Document) -> int:
    vector = ctx.step("embed", embed, document.text, retry=Retry(max_retries=5))
    row = ctx.step("store", store, document, vector, rollback=unstore)
    position = ctx.step("index", index, row, rollback=unindex)
    ctx.step("notify", notify, document)
    return position


# --- an agent


@dataclass(frozen=True)
class ToolCall:
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Turn:
    text: str
    calls: list[ToolCall]


@dataclass(frozen=True)
class Chat:
    messages: list[str]
    cost: Decimal = Decimal(0)


def ask(step: Step, messages: list[str]) -> Turn:
    return Turn("x", [])


def use_tool(step: Step, call: ToolCall) -> str:
    return "x"


def undo_tool(undo: Undo[str], call: ToolCall) -> None: ...


@workflow
def agent(ctx: Context, question: str) -> str:
    return ctx.loop("turns", turn, state=Chat([question]))


def turn(ctx: Context, chat: Chat) -> Continue[Chat] | Break[str]:
    answer = ctx.step("ask", ask, chat.messages, timeout=60)
    if not answer.calls:
        return Break(answer.text)
    results = [run_tool(ctx, call) for call in answer.calls]
    return Continue(replace(chat, messages=[*chat.messages, answer.text, *results]))


def run_tool(ctx: Context, call: ToolCall) -> str:
    result = ctx.try_step(call.tool, use_tool, call, rollback=undo_tool)
    match result:
        case Success(value):
            return value
        case Failure(kind, error):
            return f"{kind}: {error.message}"


# --- an approval


@dataclass(frozen=True)
class Decision:
    approved: bool
    by: str


@dataclass
class ApprovalState:
    status: Literal["waiting", "approved", "rejected", "expired"] = "waiting"


decisions = Queue("decisions", Decision, reply=str)


@workflow(state=ApprovalState)
def approval(ctx: Context[ApprovalState], request: str) -> bool:
    ctx.step("ask-manager", lambda step: step.log.info(request))
    try:
        decision = ctx.queue.next("decision", decisions, timeout=timedelta(days=3)).body
    except QueueTimeout:
        ctx.step("expire", set_status, "expired")
        return False
    ctx.step("record", set_status, "approved" if decision.approved else "rejected")
    return decision.approved


def set_status(step: Step[ApprovalState], status: Literal["approved", "rejected", "expired"]) -> None:
    step.state.status = status
