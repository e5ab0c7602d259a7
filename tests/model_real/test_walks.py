"""Long random walks: three invocations at once, every fault, clocks minutes apart, a freeze of a day in any call.

`DURABLE_TEST_WALKS=5000 .venv/bin/pytest tests/model_real/test_walks.py` makes more of them.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.model_real.cases import COMMANDS, FAILS, LOOPS, RETRIES, SAGA, SLEEPS, WAITS, WAITS_FOR_A_WHILE, Case
from tests.model_real.walks import Walk

pytestmark = pytest.mark.rule("D2", "E3", "E4", "E5", "E14", "R4", "R5", "R8", "R12", "Q2", "Q5")

WALKS = int(os.environ.get("DURABLE_TEST_WALKS", "400"))
TOGETHER = 50  # in one test
CASES = (SAGA, FAILS, SLEEPS, WAITS, WAITS_FOR_A_WHILE, RETRIES, LOOPS)


def case_of(seed: int) -> Case:
    """A workflow, and what clients may ask for."""
    chance = Random(-seed)
    case = chance.choice(CASES)
    wishes = tuple(name for name in COMMANDS if name in case.commands or chance.random() < 0.4)
    return case.but(commands=wishes, steps=chance.choice([1, 20]), receives=chance.choice([0, 0, 3]))


@pytest.mark.parametrize("first", range(0, WALKS, TOGETHER))
def test_whatever_befalls_it_an_execution_ends_well(first: int) -> None:
    for seed in range(first, first + TOGETHER):
        Walk(case_of(seed), seed).run()
