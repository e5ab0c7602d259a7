"""Three sagas over the outside world: one completes, one fails and rolls back, one is cancelled while a step runs.

Each is as small as it can be and still have all that can go wrong: a step that fails and is tried again, a sleep, a
rollback that fails and is tried again, a step without a rollback.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from durable import Context, Retry, Step, StoreError, TerminalError, Undo, Workflow, workflow
from durable.runtime.client.history_view import RollbackOutcome
from durable.testing import Harness
from tests.scenarios.outside import Outside

LATER = Retry(3, backoff_base=30, jitter=False)  # too long to be waited in place


@dataclass(frozen=True)
class Saga:
    """A workflow, and how its executions end, whatever befalls them."""

    workflow: Workflow[None, Any, dict[str, int]]
    status: str
    output: str | None
    error: str | None
    rollback: RollbackOutcome
    effects: list[str]  # in order, each once
    state: dict[str, int]  # how often each body's change of the document was committed
    unsure: frozenset[str] = frozenset()  # effects that a death may keep from coming about
    prepare: Callable[[Harness, str], None] = lambda durable, execution_id: None


def sagas(outside: Outside) -> dict[str, Saga]:
    """The sagas, over this world."""

    def do(step: Step[dict[str, int]]) -> str:
        receipt = outside.do(step)
        step.state[step.path] = step.state.get(step.path, 0) + 1
        return receipt

    def flaky(step: Step[dict[str, int]]) -> str:
        if step.attempt == 1:
            raise ConnectionError("try again")
        return do(step)

    def refused(step: Step[dict[str, int]]) -> None:
        do(step)
        raise TerminalError("no such address")

    def undo(undo: Undo[Any, dict[str, int]]) -> None:
        outside.undo(undo)
        name = f"undo {undo.path}"
        undo.state[name] = undo.state.get(name, 0) + 1

    def flaky_undo(step: Undo[Any, dict[str, int]]) -> None:
        if step.attempt == 1:
            raise ConnectionError("try again")
        undo(step)

    @workflow(state=dict[str, int])
    def completes(ctx: Context[dict[str, int]]) -> str:
        ctx.step("reserve", do, rollback=undo)
        ctx.step("charge", flaky, rollback=undo, retry=LATER)
        ctx.sleep("cool off", 60)
        return ctx.step("ship", do)

    @workflow(state=dict[str, int])
    def fails(ctx: Context[dict[str, int]]) -> None:
        ctx.step("reserve", do, rollback=undo)
        ctx.step("charge", do, rollback=flaky_undo, rollback_retry=LATER)
        ctx.step("ship", refused, rollback=undo)

    @workflow(state=dict[str, int])
    def is_cancelled(ctx: Context[dict[str, int]]) -> str:
        ctx.step("reserve", do, rollback=undo)
        ctx.step("charge", outside.do, rollback=undo)  # no change of the state: a death may lose its record
        ctx.sleep("cool off", 60)
        return ctx.step("ship", do, rollback=undo)

    completed = RollbackOutcome("completed")
    return {
        "completes": Saga(
            completes,
            "completed",
            "ship",
            None,
            RollbackOutcome("none"),
            ["reserve", "charge", "ship"],
            {"reserve": 1, "charge": 1, "ship": 1},
        ),
        "fails": Saga(
            fails,
            "failed",
            None,
            "TerminalError: no such address",
            completed,
            ["reserve", "charge", "ship", "undo ship", "undo charge", "undo reserve"],
            {"reserve": 1, "charge": 1, "ship": 1, "undo ship": 1, "undo charge": 1, "undo reserve": 1},
        ),
        "is_cancelled": Saga(
            is_cancelled,
            "cancelled",
            None,
            "Cancelled: the execution was cancelled",
            completed,
            ["reserve", "charge", "undo charge", "undo reserve"],
            {"reserve": 1, "undo charge": 1, "undo reserve": 1},
            frozenset({"charge"}),
            prepare=_cancel_in_charge,
        ),
    }


def _cancel_in_charge(durable: Harness, execution_id: str) -> None:
    """As the body of `charge` begins, at every attempt until it is done: a process may die in the middle of it."""

    def cancel(path: str) -> None:
        if path == "charge":
            try:
                durable.get(execution_id).cancel()
            except StoreError:  # nothing was lost: a client tries again
                durable.get(execution_id).cancel()

    durable.faults.on_body[:] = [cancel]
