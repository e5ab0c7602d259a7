"""Cancel, terminate, pause and resume at every status: what happens, or how it is refused (E7)."""

from __future__ import annotations

from typing import Any

import pytest

from durable import Context, Execution, InvalidState, Step, TerminalError, Undo, workflow
from durable.protocol.head import Status
from durable.testing import Harness

ran: list[str] = []
deployed = {"first step": "first"}


def note(step: Step) -> None:
    ran.append(step.path)


def undo(step: Undo[None]) -> None:
    ran.append(f"undo {step.path}")


def refuse(step: Step) -> None:
    raise TerminalError("no")


@workflow
def saga(ctx: Context, succeeds: bool) -> None:
    ctx.step(deployed["first step"], note, rollback=undo)
    ctx.step("second", note, rollback=undo)
    ctx.sleep("nap", 600)
    if not succeeds:
        ctx.step("third", refuse)


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    deployed["first step"] = "first"
    return [saga]


def deliver(durable: Harness, invocations: int) -> None:
    for _ in range(invocations):
        assert durable.deliver_once() is not None


def brought_to(durable: Harness, status: str) -> Execution[Any, Any]:
    """An execution in this status."""
    execution = durable.start(saga, status not in ("failing", "rolling_back", "failed"))
    match status:
        case "running":
            deliver(durable, 1)
        case "waiting":
            deliver(durable, 3)
        case "paused":
            deliver(durable, 1)
            execution.pause()
        case "failing":
            durable.run(duration=599)
            durable.clock.advance(1)
            deliver(durable, 2)  # the failed step is recorded, and then what comes of it
        case "cancelling":
            deliver(durable, 1)
            execution.cancel()
        case "rolling_back":
            durable.run(duration=599)
            durable.clock.advance(1)
            deliver(durable, 4)  # the failure, the trigger, the first rollback
        case "completed" | "failed":
            durable.run()
        case "cancelled":
            execution.cancel()
            durable.run()
        case "terminated":
            execution.terminate()
            durable.run()
        case "diverged":
            deliver(durable, 1)
            deployed["first step"] = "renamed"
            deliver(durable, 1)
            deployed["first step"] = "first"  # mended
    assert execution.status == status
    return execution


ONE = ["first"]
BOTH = ["first", "second"]
UNDO_ONE = ["first", "undo first"]
UNDO_BOTH = ["first", "second", "undo second", "undo first"]
HALF_UNDONE = ["first", "second", "undo second"]

# verb, status before, status right after, status in the end, bodies that have run by then
DEFINED = [
    ("cancel", "pending", "cancelling", "cancelled", []),
    ("cancel", "running", "cancelling", "cancelled", UNDO_ONE),
    ("cancel", "waiting", "cancelling", "cancelled", UNDO_BOTH),
    ("cancel", "paused", "cancelling", "cancelled", UNDO_ONE),
    ("cancel", "diverged", "cancelling", "cancelled", UNDO_ONE),
    ("cancel", "failing", "failing", "failed", UNDO_BOTH),
    ("cancel", "cancelling", "cancelling", "cancelled", UNDO_ONE),
    ("cancel", "rolling_back", "rolling_back", "failed", UNDO_BOTH),
    ("cancel", "cancelled", "cancelled", "cancelled", []),
    ("terminate", "pending", "terminated", "terminated", []),
    ("terminate", "running", "terminated", "terminated", ONE),
    ("terminate", "waiting", "terminated", "terminated", BOTH),
    ("terminate", "paused", "terminated", "terminated", ONE),
    ("terminate", "diverged", "terminated", "terminated", ONE),
    ("terminate", "failing", "terminated", "terminated", BOTH),
    ("terminate", "cancelling", "terminated", "terminated", ONE),
    ("terminate", "rolling_back", "terminated", "terminated", HALF_UNDONE),
    ("terminate", "terminated", "terminated", "terminated", []),
    ("pause", "pending", "paused", "paused", []),
    ("pause", "running", "paused", "paused", ONE),
    ("pause", "waiting", "paused", "paused", BOTH),
    ("pause", "paused", "paused", "paused", ONE),
    ("resume", "paused", "running", "completed", BOTH),
    ("resume", "diverged", "running", "completed", BOTH),
]
REFUSED = [
    *(("cancel", status, "can't be cancelled") for status in ("completed", "failed", "terminated")),
    *(("terminate", status, "can't be terminated") for status in ("completed", "failed", "cancelled")),
    *(
        ("pause", status, "can't be paused")
        for status in (
            "failing",
            "cancelling",
            "rolling_back",
            "completed",
            "failed",
            "cancelled",
            "terminated",
            "diverged",
        )
    ),
    *(
        ("resume", status, "only a paused or diverged one can be resumed")
        for status in (
            "pending",
            "running",
            "waiting",
            "failing",
            "cancelling",
            "rolling_back",
            "completed",
            "failed",
            "cancelled",
            "terminated",
        )
    ),
]


@pytest.mark.rule("E1", "E7", "R12")
@pytest.mark.parametrize(("verb", "before", "after", "end", "bodies"), DEFINED)
def test_what_a_verb_does(durable: Harness, verb: str, before: str, after: str, end: str, bodies: list[str]) -> None:
    execution = brought_to(durable, before)

    getattr(execution, verb)()
    assert execution.status == after
    if verb != "resume":
        getattr(execution, verb)()  # asked twice is asked once
    assert execution.status == after
    durable.run()

    assert (execution.status, ran, durable.messages(None)) == (end, bodies, [])


@pytest.mark.rule("E1", "E7", "R12")
@pytest.mark.parametrize(("verb", "status", "why"), REFUSED)
def test_where_a_verb_makes_no_sense_it_is_refused(durable: Harness, verb: str, status: str, why: str) -> None:
    execution = brought_to(durable, status)
    before = list(ran)

    with pytest.raises(InvalidState, match=f"execution '{execution.id}' is {status}: .*{why}"):
        getattr(execution, verb)()

    assert (execution.status, ran) == (status, before)


def test_every_verb_is_defined_or_refused_at_every_status() -> None:
    asked = {(verb, status) for verb, status, *_ in DEFINED} | {(verb, status) for verb, status, _ in REFUSED}
    assert asked == {(verb, str(status)) for verb in ("cancel", "terminate", "pause", "resume") for status in Status}
