"""The engine in a few lines: what the recorded history asks for next."""

from __future__ import annotations

from tests.model.scenario import Mutant, Scenario
from tests.model.state import Head


def replay(head: Head, scenario: Scenario, claims_found: int = 0) -> tuple[str, int]:
    """The next action of a forward claim, and the index of its operation.

    `claims_found` above zero: a claim before this one ended without a checkpoint, so the body may have run (rule 10).
    """
    if head.failed:
        return "fail", head.recorded
    at, wake = head.recorded, head.wake
    while at < len(scenario.workflow):
        operation = scenario.workflow[at]
        if operation.kind == "drift":
            return "diverge", at
        if operation.kind == "queue" and head.inbox > head.taken:
            return "take", at
        if wake in ("pending", "forever"):
            return "park again", at
        if operation.kind == "step":
            return start(head, scenario, at, claims_found), at
        if wake == "":
            return "park", at
        if operation.kind == "queue" and scenario.broken is not Mutant.TIMEOUT_PASSES_LAZILY:
            return "time out", at  # rule 6: a wait with two outcomes commits its outcome before a later body runs
        at, wake = at + 1, ""  # a sleep passes lazily: the next checkpoint records it
    return "complete", at


def start(head: Head, scenario: Scenario, at: int, claims_found: int) -> str:
    """Rule 10: charged are the outcomes to be tried again and the start marks without an outcome.

    The first crash is ambiguous (the body may not have begun) and free; every later body has its start recorded first.
    """
    operation = scenario.workflow[at]
    crashed = claims_found if scenario.broken is Mutant.CLAIMS_ARE_CHARGED else head.marks
    if crashed and head.attempts + crashed >= operation.attempts:
        return "exhaust"
    if operation.at_most_once or (claims_found and scenario.broken is not Mutant.NO_START_MARK):
        return "mark"
    return "body"


def frontier(head: Head, scenario: Scenario) -> int | None:
    """Rule 9: the step without an outcome that the last forward claim could reach, by the time of that claim."""
    at = head.recorded
    if head.failed or at == len(scenario.workflow):
        return None
    passes = head.passed and scenario.broken is not Mutant.FRONTIER_IGNORES_CLAIM_TIME
    if passes and scenario.workflow[at].kind == "sleep":
        at += 1
    return at if at < len(scenario.workflow) and scenario.workflow[at].kind == "step" else None
