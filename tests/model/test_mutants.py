"""Each rule broken on purpose: the checker must find what goes wrong. It shows that the rule is needed, and how."""

from __future__ import annotations

import sys

import pytest

from tests.model.checker import check
from tests.model.scenario import Mutant, Scenario
from tests.model.state import QUEUE, QUEUE_WITH_TIMEOUT, SLEEP, step

STEP = step()
FAILS = step("terminal")
POISON = step("poison")
ONCE = step(attempts=1, at_most_once=True)
UNDO_POISON = step(undo=("poison",))
UNDO_FLAKY = step(undo=("ok", "retry"))
MANY = 100

KILLS = [
    (Mutant.MESSAGE_WITHOUT_IDENTITY, Scenario((STEP,), crashes=1), "stuck"),
    (Mutant.LEASE_NOT_CHECKED, Scenario((STEP,), duplicates=1), "body 0 and body 0 overlap"),
    (Mutant.OWN_CLAIM_NOT_RECOGNISED, Scenario((STEP,), lost_answers=1), "ends while it holds the lease"),
    (Mutant.OWN_CLAIM_TURNS, Scenario((STEP,), lost_answers=1, verbs=("cancel",)), "cannot have started"),
    (Mutant.BUSY_DELETED, Scenario((STEP,), crashes=1, duplicates=1), "stuck"),
    (
        Mutant.LATE_HOLDER_NOT_FENCED,
        Scenario((STEP, STEP), steps_per_invocation=MANY, crashes=1, duplicates=1, late=1),
        "stuck",
    ),
    (Mutant.EARLY_DELETED, Scenario((SLEEP,)), "stuck"),
    (Mutant.HELD_AND_SENT, Scenario((SLEEP,)), "live continuations"),
    (Mutant.STATUS_NOT_CHECKED, Scenario((STEP,), verbs=("terminate",)), "the terminal status terminated is left"),
    (Mutant.STATUS_NOT_CHECKED, Scenario((STEP,), verbs=("pause",)), "overwrites paused"),
    (Mutant.STATUS_NOT_CHECKED, Scenario((STEP,), verbs=("cancel",)), "cancelling is overwritten"),
    (Mutant.REVISION_NOT_CHECKED, Scenario((STEP, STEP), lost_answers=1), "recorded without a run, or twice"),
    (
        Mutant.RECOGNISED_BY_FENCE,
        Scenario((STEP,), verbs=("pause", "resume")),
        "ends while it holds the lease",
    ),
    (Mutant.CANCELLED_HOLDER_SENDS_NOTHING, Scenario((STEP,), verbs=("cancel",)), "stuck"),
    (Mutant.GIVING_BACK_FORGETS_CLAIMS, Scenario((STEP,), crashes=1, verbs=("cancel",)), "rolled back only ()"),
    (
        Mutant.KEPT_LEASE_RESETS_CLAIMS,
        Scenario((STEP, STEP), steps_per_invocation=MANY, crashes=1, verbs=("cancel",)),
        "rolled back only (0,)",
    ),
    (Mutant.PARK_IGNORES_INBOX, Scenario((QUEUE,), verbs=("send",)), "not due, but claimable"),
    (Mutant.PARK_AGAIN_SENDS_TIMER_ONLY, Scenario((SLEEP,), verbs=("send",)), "stuck"),
    (
        Mutant.TIMEOUT_PASSES_LAZILY,
        Scenario((QUEUE_WITH_TIMEOUT, STEP), crashes=1, verbs=("send",)),
        "a body that ran is in no history",
    ),
    (
        Mutant.RESUME_KEEPS_REVISION,
        Scenario((STEP,), crashes=1, duplicates=1, verbs=("pause", "resume")),
        "stuck",
    ),
    (
        Mutant.CANCEL_KEEPS_REVISION,
        Scenario((STEP, STEP), crashes=1, duplicates=1, verbs=("cancel", "pause")),
        "stuck",
    ),
    (
        Mutant.SEND_KEEPS_REVISION,
        Scenario((QUEUE, STEP), crashes=2, duplicates=1, verbs=("send",)),
        "stuck",
    ),
    (Mutant.RESUME_IS_DUE_NOW, Scenario((SLEEP,), verbs=("pause", "resume")), "due, but not claimable"),
    (Mutant.CANCEL_KEEPS_WAKE, Scenario((QUEUE,), verbs=("cancel",)), "due, but not claimable"),
    (Mutant.SEND_READS_FIRST, Scenario((QUEUE,), verbs=("send",)), "stuck"),
    (Mutant.FAILING_IS_NOT_DUE, Scenario((FAILS,)), "not due, but claimable"),
    (Mutant.ROLLBACK_CLAIM_COUNTS, Scenario((STEP,), verbs=("cancel",)), "cannot have started"),
    (
        Mutant.FRONTIER_IGNORES_CLAIM_TIME,
        Scenario((SLEEP, STEP), crashes=1, verbs=("cancel",)),
        "started [1], rolled back only ()",
    ),
    (Mutant.SET_NOT_FIXED, Scenario((UNDO_FLAKY,), crashes=1, verbs=("cancel",)), "rolled back only ()"),
    (Mutant.CLAIMS_ARE_CHARGED, Scenario((step(attempts=1),), crashes=1), "after 0 bodies of 1"),
    (Mutant.NO_START_MARK, Scenario((POISON,)), "poisoned step 0 has run 4 times"),
    (Mutant.NO_ROLLBACK_MARK, Scenario((UNDO_POISON, FAILS)), "poisoned rollback 0 has run 4 times"),
    (Mutant.MARK_WITHOUT_BODY, Scenario((ONCE,), verbs=("pause", "resume")), "after 0 bodies of 1"),
    (Mutant.MARK_WITHOUT_BODY, Scenario((ONCE,), verbs=("cancel",)), "cannot have started"),
    (Mutant.DEAD_LETTER_FAILS_AT_ONCE, Scenario((STEP,), dead_letters=1), "never crashed"),
    (
        Mutant.DEAD_LETTER_IGNORES_LEASE,
        Scenario((STEP,), crashes=1, duplicates=1, dead_letters=2),
        "ends while it holds the lease",
    ),
    (Mutant.DEAD_LETTER_WITHOUT_IDENTITY, Scenario((STEP,), crashes=1, dead_letters=1), "stuck"),
    (Mutant.UNKNOWN_VERSION_COUNTS, Scenario((STEP,), dead_letters=4, deploying=True), "not deployed yet"),
    (Mutant.CLAIM_REMOVES_DUE, Scenario((STEP,), crashes=1), "not due, but claimable"),
]


@pytest.mark.rule("E3", "E4")
@pytest.mark.parametrize(("mutant", "scenario", "says"), KILLS, ids=[kill[0].value for kill in KILLS])
def test_the_checker_catches(mutant: Mutant, scenario: Scenario, says: str) -> None:
    report = check(scenario._replace(broken=mutant))
    sys.stdout.write(f"{report}\n")  # the shortest counterexample, shown by pytest -rA
    assert report.failure is not None
    assert says in report.failure
    assert check(scenario).failure is None, "the mutant alone is to blame"


def test_every_mutant_is_caught_and_every_rule_has_one() -> None:
    assert {mutant for mutant, _, _ in KILLS} == set(Mutant)
    assert {int(mutant.removeprefix("rule ").split(":")[0]) for mutant in Mutant} == set(range(1, 13))
