"""A purchase that somebody approves, or nobody does in time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Literal

from durable import Action, Context, Queue, QueueTimeout, Step, workflow

IN_TIME = timedelta(days=2)


@dataclass(frozen=True)
class Request:
    """Who wants what, and who decides."""

    employee: str
    manager: str
    what: str
    cost: Decimal


@dataclass(frozen=True)
class Decision:
    """What the manager says."""

    approved: bool
    reason: str = ""


@dataclass
class Stage:
    """How far a request has come."""

    name: Literal["requested", "approved", "declined", "expired"] = "requested"


decisions = Queue("decisions", Decision, reply=str)


@workflow(state=Stage)
def approval(ctx: Context[Stage], request: Request) -> str:
    ctx.step("ask", send_mail, request.manager, f"{request.employee} wants {request.what} for {request.cost}")
    try:
        message = ctx.queue.next("decision", decisions, timeout=IN_TIME, completable=True)
    except QueueTimeout:
        ctx.step("expire", reach, "expired")
        ctx.step("tell", send_mail, request.employee, f"nobody has decided about {request.what}")
        return "expired"
    decision = message.body
    stage: Literal["approved", "declined"] = "approved" if decision.approved else "declined"
    ctx.step("decide", reach, stage)
    message.complete(f"{request.employee} is told")  # the manager, who may be waiting for this, need not wait longer
    ctx.step("tell", send_mail, request.employee, f"{request.what}: {stage}. {decision.reason}".strip())
    return stage


def reach(step: Step[Stage], stage: Literal["approved", "declined", "expired"]) -> None:
    step.state.name = stage


def send_mail(step: Step, to: str, text: str) -> None:
    mail.send(to, text, key=step.idempotency_key)


@approval.action
def stage(action: Action[Stage]) -> str:
    return action.state.name


class Mail:
    """Stands in for a mail service: it takes each key once."""

    def __init__(self) -> None:
        self.sent: dict[str, tuple[str, str]] = {}

    def send(self, to: str, text: str, *, key: str) -> None:
        """Send a text."""
        self.sent.setdefault(key, (to, text))


mail = Mail()
