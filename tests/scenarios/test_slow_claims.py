"""Time that is lost before a body begins is not the step's: a cold process, a slow table, a long history."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from durable import Context, Retry, Step, workflow
from durable.testing import Harness
from tests.scenarios import table

pytestmark = pytest.mark.rule("S4")

ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


def note(step: Step) -> int:
    """Takes a while: real time, which no virtual clock skips."""
    Event().wait(0.05)
    ran.append(step.path)
    return step.attempt


@workflow
def order(ctx: Context) -> list[int]:
    return [ctx.step(name, note, retry=Retry(0)) for name in ("first", "second")]


@pytest.fixture(params=[1, 99], ids=["one step", "budget"])
def durable(request: pytest.FixtureRequest) -> Iterator[Harness]:
    with Harness(workflows=[order], steps_per_invocation=request.param) as harness:
        yield harness


def slowed(durable: Harness, left: float, nth: int, *, times: int = 1) -> None:
    """The nth write of a worker takes until so many seconds are left of its invocation."""

    def wait() -> None:
        deadline = durable.invocations[-1].deadline
        durable.clock.move_to(max(durable.clock.now(), deadline - round(left * 1000)))

    durable.faults.after(nth, wait, operation="UpdateItem", by="Worker", times=times)


@pytest.mark.parametrize("left", [0.5, 2.5, 3.001, 3.5, 10, 25])
@pytest.mark.parametrize("restart", [True, False], ids=["cold", "warm"])
def test_the_first_step_after_a_slow_claim_is_not_to_blame(durable: Harness, left: float, restart: bool) -> None:
    if not restart:
        durable.start(order)
        durable.run()
        ran.clear()
    slowed(durable, left, 1)
    execution = durable.start(order)
    durable.run()

    assert (execution.status, list(dict.fromkeys(ran))) == ("completed", ["first", "second"])


@pytest.mark.parametrize("left", [0.5, 3.001, 10])
def test_a_few_slow_claims_in_a_row_are_nobodys_fault(durable: Harness, left: float) -> None:
    slowed(durable, left, 1, times=3)
    execution = durable.start(order)
    durable.run()

    assert execution.status == "completed"
    assert table.head(durable, execution.id).dead == 0
