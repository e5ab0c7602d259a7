"""What a rollback is given: everything about its step, and what a step has itself (R9)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from durable import Context, ErrorInfo, Retry, Step, TerminalError, Undo, workflow
from durable.testing import Harness

keys: dict[str, str] = {}
shown: dict[str, dict[str, Any]] = {}
dies: list[Any] = []


def ship(step: Step[dict[str, int]], address: str, weight: int) -> str:
    if step.attempt == 1:
        raise ConnectionError("try again")
    keys[step.path] = step.idempotency_key
    step.state["shipped"] = weight
    return f"parcel to {address}"


def refuse(step: Step[dict[str, int]], reason: str) -> None:
    keys[step.path] = step.idempotency_key
    raise TerminalError(reason)


def die(step: Step[dict[str, int]]) -> None:
    keys[step.path] = step.idempotency_key
    dies[0]()


def undo(step: Undo[Any, dict[str, int]], *arguments: Any) -> None:
    step.vars["seen"] = step.vars.get("seen", 0) + 1
    step.state[f"undo {step.path}"] = step.attempt
    step.log.info("undone")
    assert timedelta(0) < step.remaining() <= timedelta(seconds=5)
    assert keys.setdefault(f"undo {step.path}", step.idempotency_key) == step.idempotency_key
    shown[step.path] = {
        "arguments": arguments,
        "output": step.output,
        "completed": step.completed,
        "status": step.status,
        "error": step.error,
        "cause": step.cause,
        "name": step.name,
        "attempt": step.attempt,
        "forward_attempts": step.forward_attempts,
        "forward key": step.forward_idempotency_key == keys[step.path],
        "execution": step.execution_id,
    }
    if step.path == "ship#2" and step.attempt == 1:
        raise ConnectionError("try again")


RETRY = Retry(2, backoff_base=0)


@workflow(state=dict[str, int])
def saga(ctx: Context[dict[str, int]]) -> None:
    for weight in (1, 2):
        ctx.step("ship", ship, "Rome", weight, rollback=undo, retry=RETRY, rollback_timeout=5, rollback_retry=RETRY)
    ctx.step("refuse", refuse, "no such street", rollback=undo, rollback_timeout=5)


@workflow(state=dict[str, int])
def dying(ctx: Context[dict[str, int]]) -> None:
    ctx.step("die", die, rollback=undo, rollback_timeout=5)


@pytest.fixture
def durable_workflows() -> list[object]:
    keys.clear()
    shown.clear()
    dies.clear()
    return [saga, dying]


@pytest.mark.rule("R9", "R8", "S6", "S8")
def test_a_rollback_sees_its_step_and_the_failure_that_brought_it_about(durable: Harness) -> None:
    execution = durable.start(saga, execution_id="order-1")
    durable.run()

    cause = ErrorInfo("TerminalError", "no such street", {"step": "refuse", "kind": "critical", "attempts": 1})
    common = {"cause": cause, "forward key": True, "execution": "order-1"}
    shipped = {
        "completed": True,
        "status": "completed",
        "error": None,
        "output": "parcel to Rome",
        "forward_attempts": 2,
    }
    assert shown == {
        "refuse": common
        | {
            "arguments": ("no such street",),
            "output": None,
            "completed": False,
            "status": "failed",
            "error": ErrorInfo("TerminalError", "no such street"),
            "name": "refuse",
            "attempt": 1,
            "forward_attempts": 1,
        },
        "ship#2": common | shipped | {"arguments": ("Rome", 2), "name": "ship#2", "attempt": 2},
        "ship": common | shipped | {"arguments": ("Rome", 1), "name": "ship", "attempt": 1},
    }
    assert (len(keys), len(set(keys.values()))) == (6, 6)
    assert all(len(key) == 64 for key in keys.values())
    assert execution.state == {"shipped": 2, "undo refuse": 1, "undo ship#2": 2, "undo ship": 1}
    assert [(e.path, e.attempts) for e in execution.history if e.kind == "rollback"] == [
        ("refuse", 1),
        ("ship#2", 2),
        ("ship", 1),
    ]


@pytest.mark.rule("R9", "R12", "R4")
def test_the_rollback_of_a_cancelled_step_that_may_have_started_knows_no_more(durable: Harness) -> None:
    execution = durable.start(dying, execution_id="order-1")
    dies.append(lambda: (execution.cancel(), durable.faults.die()))
    durable.run()

    assert shown == {
        "die": {
            "arguments": (),
            "output": None,
            "completed": False,
            "status": "unfinished",
            "error": None,
            "cause": ErrorInfo("Cancelled", "the execution was cancelled"),
            "name": "die",
            "attempt": 1,
            "forward_attempts": 0,
            "forward key": True,
            "execution": "order-1",
        }
    }
    assert execution.status == "cancelled"
