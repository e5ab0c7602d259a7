"""An agent: a model chooses tools until it has an answer, and what the tools did is undone if it finds none.

Every call of the model and of a tool is a step, so a crash in the tenth turn asks nobody again, and charges no card twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from durable import Break, Context, Continue, Retry, Step, TerminalError, Undo, workflow

MOST_TURNS = 8
BOOKINGS = "bookings"  # a table of your own: the template's StepTableArns lets steps write to it


@dataclass(frozen=True)
class Call:
    """A tool that the model wants to use, and how."""

    tool: str
    arguments: dict[str, str]


@dataclass(frozen=True)
class Reply:
    """What the model says: an answer, if it calls no tools."""

    text: str
    calls: list[Call] = field(default_factory=list[Call])


@dataclass(frozen=True)
class Chat:
    """The conversation so far."""

    messages: list[str]
    turns: int = 0


@workflow
def agent(ctx: Context, question: str) -> str:
    return ctx.loop("turns", turn, state=Chat([question]))


def turn(ctx: Context, chat: Chat) -> Continue[Chat] | Break[str]:
    if chat.turns == MOST_TURNS:
        raise TerminalError(f"no answer in {MOST_TURNS} turns")  # and all that the tools did is undone
    reply = ctx.step("ask", ask, chat.messages, timeout=60, retry=Retry(5))
    if not reply.calls:
        return Break(reply.text)
    results = [use_tool(ctx, call) for call in reply.calls]
    return Continue(Chat([*chat.messages, reply.text, *results], chat.turns + 1))


def use_tool(ctx: Context, call: Call) -> str:
    """What the tool says; its failure is for the model to read."""
    run, undo = TOOLS[call.tool]
    result = ctx.try_step(call.tool, run, call.arguments, rollback=undo, retry=Retry(2))
    return result.value if result.ok else f"{call.tool} failed: {result.failure.error.message}"


def ask(step: Step, messages: list[str]) -> Reply:
    return model.reply(messages)


# --- the tools, each with what undoes it -----------------------------------------------------------------------------


def charge_card(step: Step, arguments: dict[str, str]) -> str:
    return cards.charge(arguments["card"], arguments["amount"], key=step.idempotency_key)


def refund_card(undo: Undo[str], arguments: dict[str, str]) -> None:
    cards.refund(undo.forward_idempotency_key)


def save_booking(step: Step, arguments: dict[str, str]) -> str:
    """Written in one transaction with the step's record: exactly once."""
    item = {"id": {"S": arguments["id"]}, "what": {"S": arguments["what"]}}
    step.transact({"Put": {"TableName": BOOKINGS, "Item": item, "ConditionExpression": "attribute_not_exists(id)"}})
    return f"booked {arguments['what']}"


def delete_booking(undo: Undo[str], arguments: dict[str, str]) -> None:
    if undo.completed:  # a write in the step's transaction is there if the step completed, and not otherwise
        undo.transact({"Delete": {"TableName": BOOKINGS, "Key": {"id": {"S": arguments["id"]}}}})


def queue_training(step: Step, arguments: dict[str, str]) -> str:
    return step.client.start(training, arguments["data"]).id  # the same execution, however often this is tried


def cancel_training(undo: Undo[str], arguments: dict[str, str]) -> None:
    if undo.output is not None:
        undo.client.get(undo.output).cancel()


Tool = tuple[Callable[[Step, dict[str, str]], str], Callable[[Undo[str], dict[str, str]], None]]
TOOLS: dict[str, Tool] = {
    "charge-card": (charge_card, refund_card),
    "save-booking": (save_booking, delete_booking),
    "queue-training": (queue_training, cancel_training),
}


@workflow
def training(ctx: Context, data: str) -> str:
    ctx.sleep("wait-for-a-machine", 3600)
    return ctx.step("train", lambda step: f"a model of {data}")


# --- what is outside -------------------------------------------------------------------------------------------------


class Model:
    """Stands in for a language model: it says what it was told to, and then that it is done."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = replies
        self.asked: list[list[str]] = []

    def reply(self, messages: list[str]) -> Reply:
        """The reply to a conversation."""
        self.asked.append(messages)
        return self.replies[len(self.asked) - 1] if len(self.asked) <= len(self.replies) else Reply("done")


class Cards:
    """Stands in for the card company: it takes each key once."""

    def __init__(self) -> None:
        self.charges: dict[str, Any] = {}

    def charge(self, card: str, amount: str, *, key: str) -> str:
        """The receipt."""
        return str(self.charges.setdefault(key, f"{amount} from {card}"))

    def refund(self, key: str) -> None:
        """Give back what was charged under a key, if anything was."""
        self.charges.pop(key, None)


model = Model()
cards = Cards()
