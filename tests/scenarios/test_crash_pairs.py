"""Two misfortunes befall one execution, of all the pairs a sample that is the same at every run."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from durable.testing import Harness
from tests.scenarios.misfortune import Trial, calls_of, saga_named, strikes
from tests.scenarios.outside import Outside
from tests.stores import sampled

PAIRS = 60  # a chunk
CHUNKS = 2


@pytest.mark.rule("D1", "D2", "E3", "E4", "R2", "R3", "R5", "R8")
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("name", ["completes", "fails", "is_cancelled"])
def test_a_saga_ends_as_it_should_after_two_misfortunes(name: str, chunk: int) -> None:
    outside = Outside()
    saga = saga_named(name, outside)
    with Harness(workflows=[saga.workflow]) as durable:
        trial = Trial(durable, outside, saga)
        pairs = list(combinations(strikes(calls_of(trial)), 2))
        chosen = sampled(Random(f"{name} {chunk}").sample(pairs, PAIRS))
        problems = [problem for pair in chosen for problem in trial.run(pair)]
    assert problems == []
