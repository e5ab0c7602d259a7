"""A cancelled execution waits for nothing: not for its sleep, not for the backoff of a step."""

from __future__ import annotations

from typing import Any

import pytest

from durable import Context, Retry, Step, Undo, workflow
from durable.testing import Harness
from tests.scenarios import table

ran: list[str] = []


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


def busy(step: Step) -> None:
    ran.append(step.path)
    raise ConnectionError("busy")


def undo(step: Undo[Any]) -> None:
    ran.append(f"undo {step.path} {step.status}")


@workflow
def sleeps(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.sleep("nap", 600)
    ctx.step("second", note, rollback=undo)


@workflow
def backs_off(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("second", busy, rollback=undo, retry=Retry(3, backoff_base=600, backoff_max=600))


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    return [sleeps, backs_off]


@pytest.mark.rule("R12", "R4")
@pytest.mark.parametrize(
    ("flow", "undone"),
    [
        (sleeps, ["first", "undo first completed"]),
        (backs_off, ["first", "second", "undo second failed", "undo first completed"]),
    ],
)
def test_it_is_rolled_back_at_once(durable: Harness, flow: Any, undone: list[str]) -> None:
    execution = durable.start(flow)
    durable.run(duration=60)
    assert execution.status == "waiting"

    execution.cancel()
    durable.run()

    assert (execution.status, ran, durable.messages()) == ("cancelled", undone, [])
    head = table.head(durable, execution.id)
    assert head.ended - head.created == 60_000
