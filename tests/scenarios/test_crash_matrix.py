"""The process dies before and after every AWS call, and in every body; every answer is lost once, every call refused."""

from __future__ import annotations

import pytest

from durable.testing import Harness
from tests.scenarios.misfortune import Trial, calls_of, saga_named, strikes
from tests.scenarios.outside import Outside
from tests.stores import sampled

CHUNKS = 4


@pytest.mark.rule("D1", "D2", "E3", "E4", "R2", "R3", "R5", "R8", "S6", "S8")
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("name", ["completes", "fails", "is_cancelled"])
def test_a_saga_ends_as_it_should_wherever_misfortune_strikes(name: str, chunk: int) -> None:
    outside = Outside()
    saga = saga_named(name, outside)
    with Harness(workflows=[saga.workflow]) as durable:
        trial = Trial(durable, outside, saga)
        chosen = sampled(list(strikes(calls_of(trial)))[chunk::CHUNKS])
        problems = [problem for strike in chosen for problem in trial.run([strike])]
    assert problems == []
