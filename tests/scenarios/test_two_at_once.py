"""A second invocation of an execution comes at any call of the first: nothing is lost, and nothing is committed twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from durable import Context, Retry, Step, Undo, workflow
from durable.protocol.continuation import continuation_of
from durable.testing import Harness
from tests.scenarios import table
from tests.scenarios.misfortune import TOGETHER
from tests.scenarios.outside import Outside
from tests.stores import sampled

STEPS = 3  # bodies in one invocation: more than one write under one lease
outside = Outside()
LATER = Retry(1, backoff_base=30, jitter=False)


def do(step: Step[dict[str, int]]) -> None:
    outside.do(step)
    step.state[step.path] = step.state.get(step.path, 0) + 1


def flaky(step: Step[dict[str, int]]) -> None:
    if step.attempt == 1:
        raise ConnectionError("try again")
    do(step)


def undo(undo: Undo[Any, dict[str, int]]) -> None:
    outside.undo(undo)
    undo.state[f"undo {undo.path}"] = undo.state.get(f"undo {undo.path}", 0) + 1


@workflow(state=dict[str, int])
def order(ctx: Context[dict[str, int]]) -> None:
    """Takes messages, works, waits, tries again, sleeps, fails and is rolled back."""
    taken = [ctx.queue.next("wait", "numbers", body=int).body]
    ctx.step("reserve", do, rollback=undo)
    ctx.sleep("nap", 60)
    taken += [message.body for message in ctx.queue.next_batch("rest", "numbers", body=int, count=5)]
    ctx.step("charge", flaky, rollback=undo, retry=LATER)
    ctx.step("ship", do)
    raise ValueError(str(taken))


EFFECTS = ["reserve", "charge", "ship", "undo charge", "undo reserve"]


@dataclass(frozen=True)
class Second:
    """The other invocation: whether it finds the lease over, as no clock would have it, and how far it goes."""

    overtakes: bool
    to_the_end: bool

    def come(self, durable: Harness, execution_id: str) -> None:
        """Another continuation of the execution as it is now is delivered, and perhaps what follows from it too."""
        head = table.head(durable, execution_id)
        if self.overtakes:
            table.end_lease(durable, execution_id)
        durable.application.queue.send(continuation_of(head))
        while durable.deliver_once() is not None and self.to_the_end:
            pass


def calls_of_workers() -> int:
    """How many calls the workers make in a run in which nobody comes."""
    with Harness(workflows=[order], steps_per_invocation=STEPS) as durable:
        assert trial(durable, "before", 10_000, None) == []
        return sum(call.by == "Worker" for call in durable.calls)


def problems(moment: str, second: Second) -> list[Any]:
    """What is not as it should be, in one execution after the other: the second comes at another call in each."""
    calls = sampled(range(1, calls_of_workers() + 1), 4)
    found: list[Any] = []
    for start in range(0, len(calls), TOGETHER):
        with Harness(workflows=[order], steps_per_invocation=STEPS) as durable:
            for nth in calls[start : start + TOGETHER]:
                found += [(nth, problem) for problem in trial(durable, moment, nth, second)]
    return found


def trial(durable: Harness, moment: str, nth: int, second: Second | None) -> list[Any]:
    """One execution, with a second invocation before or after the nth call of its workers. The sweeper is down."""
    outside.durable = durable
    durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000_000)
    execution = durable.start(order)
    for number in (1, 2):
        execution.send("numbers", number)
    if second is not None:
        getattr(durable.faults, moment)(nth, lambda: second.come(durable, execution.id), by="Worker")
    durable.run()
    durable.faults.clear()
    overtakes = second is not None and second.overtakes
    seen = outside.seen.pop(execution.id)
    most = 2 if overtakes else 1  # the one that has lost its lease may be about to run a body
    stands = {
        "end": (execution.status, str(execution.error), execution.rollback.outcome),
        "messages": durable.messages(None),
        "effects": seen.done,
        "state": execution.state,
        "too often": [body for body, times in seen.count.items() if times > most],
        "wrong": [] if overtakes else seen.wrong,
    }
    wanted = {
        "end": ("failed", "ValueError: [1, 2]", "completed"),
        "messages": [],
        "effects": EFFECTS,
        "state": dict.fromkeys(EFFECTS, 1),
        "too often": [],
        "wrong": [],
    }
    return [(name, stands[name]) for name in wanted if stands[name] != wanted[name]]


@pytest.mark.rule("E3", "E4", "D2", "Q2", "R8")
def test_one_that_meets_the_lease_changes_nothing() -> None:
    assert problems("after", Second(overtakes=False, to_the_end=True)) == []


@pytest.mark.rule("E3", "E4", "Q2", "R8")
@pytest.mark.parametrize(("moment", "to_the_end"), [("before", False), ("after", False), ("before", True)])
def test_one_that_takes_over_leaves_the_other_nothing_to_write(moment: str, to_the_end: bool) -> None:
    assert problems(moment, Second(overtakes=True, to_the_end=to_the_end)) == []
