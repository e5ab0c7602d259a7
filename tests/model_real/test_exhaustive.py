"""Every schedule of a few small executions, within the bounds that each case states, keeps what is promised.

`pytest tests/model_real -rA` prints how many schedules and states of rest that were. DURABLE_TEST_DEEP=1 adds wider bounds, for
which it takes some minutes.
"""

from __future__ import annotations

import os
import sys

import pytest

from tests.model_real.cases import FAILS, LOOPS, RETRIES, SAGA, SLEEPS, WAITS, WAITS_FOR_A_WHILE, Case
from tests.model_real.search import explore

pytestmark = pytest.mark.rule(
    "D2", "E3", "E4", "E5", "E6", "E7", "E14", "R3", "R4", "R5", "R8", "R12", "S4", "S5", "Q2"
)

CASES: dict[str, Case] = {
    "two faults": SAGA.but(faults=2),
    "a message comes twice, and a fault": SAGA.but(faults=1, duplicates=1, preemptions=0),
    "a message is lost, and a fault": SAGA.but(faults=1, losses=1, preemptions=0),
    "cancelled, left twice for another": SAGA.but(commands=("cancel",), preemptions=2),
    "cancelled, and then terminated": SAGA.but(commands=("cancel", "terminate")),
    "terminated, and a fault": SAGA.but(faults=1, commands=("terminate",)),
    "terminated in an invocation of many steps, and a fault": SAGA.but(faults=1, commands=("terminate",), steps=20),
    "paused and resumed, and a fault": SAGA.but(faults=1, commands=("pause", "resume")),
    "dead letters": SAGA.but(faults=3, receives=1, preemptions=0),
    "fails, and two faults": FAILS.but(faults=2, steps=20),
    "fails and is terminated, and a fault": FAILS.but(faults=1, commands=("terminate",), steps=20),
    "sleeps and is cancelled": SLEEPS.but(commands=("cancel",)),
    "sleeps, and two faults": SLEEPS.but(faults=2, preemptions=0),
    "waits for a message, and a fault": WAITS.but(faults=1),
    "waits for a message for a while, and a fault": WAITS_FOR_A_WHILE.but(faults=1),
    "waits for a message that comes twice": WAITS.but(duplicates=1),
    "retries and is paused, and a fault": RETRIES.but(faults=1, commands=("pause", "resume")),
    "loops and is cancelled, and a fault": LOOPS.but(faults=1, commands=("cancel",), preemptions=0, steps=20),
}
DEEP: dict[str, Case] = {
    "loops, and two faults": LOOPS.but(faults=2, preemptions=0),
    "cancelled, and a fault": SAGA.but(faults=1, commands=("cancel",)),
    "cancelled in an invocation of many steps, and a fault": SAGA.but(faults=1, commands=("cancel",), steps=20),
    "cancelled, and a message comes twice": SAGA.but(commands=("cancel",), duplicates=1),
    "three faults": SAGA.but(faults=3),
    "fails, a message comes twice, and a fault": FAILS.but(faults=1, duplicates=1),
    "fails, and dead letters": FAILS.but(faults=3, receives=1, preemptions=0),
    "sleeps and is cancelled, and a fault": SLEEPS.but(faults=1, commands=("cancel",)),
    "waits and is cancelled": WAITS.but(commands=("send", "cancel")),
    "waits and is cancelled, and a fault": WAITS.but(commands=("send", "cancel"), faults=1, preemptions=0),
    "retries and is cancelled, and a fault": RETRIES.but(faults=1, commands=("cancel",)),
}
CHOSEN = {**CASES, **(DEEP if os.environ.get("DURABLE_TEST_DEEP") else {})}


@pytest.mark.parametrize("case", CHOSEN.values(), ids=CHOSEN.keys())
def test_whatever_the_order_and_wherever_the_faults_strike(case: Case) -> None:
    report = explore(case)
    sys.stdout.write(f"{report}\n")

    assert (report.failure, report.complete) == ("", True), str(report)
