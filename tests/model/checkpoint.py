"""Rules 4 to 6 and 8: the checkpoint of a forward claim, and what a verb that came in makes of it.

Each checkpoint raises the revision by one, writes a fresh nonce, and either keeps the lease or gives it back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.model.replay import replay
from tests.model.scenario import Mutant, Scenario
from tests.model.state import TERMINAL, Head, Process


class Written(NamedTuple):
    """What a checkpoint leaves behind: the head, the process, and whether the stream relays it (rule 8)."""

    head: Head
    process: Process
    relayed: bool = False


def sends(process: Process, revision: int) -> Process:
    """Commit, send, delete: the process has committed and sends the continuation."""
    return Process(process.kind, "send", process.message, process.fence, revision)


def deletes(process: Process) -> Process:
    """Nothing is left to do but to delete the message."""
    return Process(process.kind, "delete", process.message, process.fence)


def lost(head: Head, process: Process, broken: Mutant | None) -> bool:
    """Rule 4: the execution has ended, or the fence is another's. The process leaves quietly."""
    if broken is Mutant.STATUS_NOT_CHECKED:
        return head.fence != process.fence
    return head.fence != process.fence or head.status in TERMINAL


def checkpoint(head: Head, process: Process, outcome: str, scenario: Scenario) -> Written:
    """Rule 4. `outcome` is the body's (ok, retry, terminal) or the action that the replay asked for.

    The condition is fence, revision, status, and for a park the inbox. A refusal returns the head; where the fence is
    still the own one, a verb came in, and the checkpoint is computed anew from that head and tried again. Between the
    two nothing is written, so the model makes one action of them: compute from the head as it is.
    """
    if lost(head, process, scenario.broken):
        return Written(head, deletes(process))
    if scenario.broken is Mutant.RECOGNISED_BY_FENCE and head.revision != process.revision:
        return Written(head, sends(process, head.revision))
    if outcome in ("park", "park again") and scenario.broken is not Mutant.PARK_IGNORES_INBOX:
        process, outcome = look_again(head, process, outcome, scenario)
        if outcome in ("body", "mark") and head.status == "running":
            return Written(head, process._replace(place=outcome))
    if head.status == "paused" and scenario.broken is not Mutant.STATUS_NOT_CHECKED:
        return under_pause(head, process, outcome, scenario)
    if head.status == "cancelling" and scenario.broken is not Mutant.STATUS_NOT_CHECKED:
        return under_cancel(head, process, outcome, scenario)
    return running(head, process, outcome, scenario)


def look_again(head: Head, process: Process, outcome: str, scenario: Scenario) -> tuple[Process, str]:
    """Rule 5: a park is conditional on the inbox that the replay saw. Refused, the replay is made with the new one."""
    if head.inbox == process.seen:
        return process, outcome
    place, step = replay(head, scenario)
    return process._replace(step=step, seen=head.inbox), place


def entries(head: Head, process: Process, outcome: str, scenario: Scenario) -> dict[str, Any]:
    """What the outcome adds to the history, with the sleep before it that was passed lazily."""
    at = process.step
    before = {"recorded": at, "wake": "", "passed": False}
    settled = {"recorded": at + 1, "wake": "", "passed": False, "attempts": 0, "marks": 0}
    match outcome:
        case "ok" | "time out":
            return settled
        case "take":
            return settled | {"taken": head.taken + 1}
        case "terminal" | "exhaust":
            return settled | {"failed": True}
        case "retry":
            charged = head.attempts + head.marks + (0 if process.marked else 1)
            if charged >= scenario.workflow[at].attempts:
                return settled | {"failed": True}
            backoff = {"attempts": charged, "marks": 0, "wake": "pending", "seen": head.inbox}
            return before | backoff
        case "mark":
            return before | {"marks": head.marks + 1}
        case "park":
            wake = "pending" if scenario.workflow[at].timed else "forever"
            return before | {"wake": wake, "seen": process.seen}
        case "park again":
            return before | {"wake": head.wake, "seen": process.seen}
        case _:  # complete, fail, diverge, and a body that does not begin
            return before


def write(head: Head, process: Process, *, keep: bool, **changes: Any) -> Head:
    """Each checkpoint: the revision, the nonce, the lease, and claims to 1 (kept) or 0 (given back)."""
    common = {
        "revision": head.revision + 1,
        "nonce": process.nonce,
        "dead": 0,
        "lease": "held" if keep else "free",
        "claims": int(keep),
    }
    return head._replace(**(common | changes))


def running(head: Head, process: Process, outcome: str, scenario: Scenario) -> Written:
    """The status is as known."""
    changes = entries(head, process, outcome, scenario)
    if outcome == "fail" or changes.get("failed"):
        due = "" if scenario.broken is Mutant.FAILING_IS_NOT_DUE else "now"
        failing = write(head, process, keep=False, **changes, status="failing", ending="failed", due=due)
        return Written(failing, deletes(process), relayed=True)  # rule 8: the trigger from outside sends
    if outcome in ("complete", "diverge"):
        status = "completed" if outcome == "complete" else "diverged"
        return Written(write(head, process, keep=False, **changes, status=status, due=""), deletes(process))
    if changes["wake"]:
        return park(head, process, changes, scenario)
    if outcome == "ok" and scenario.steps_per_invocation == 1:
        changed = write(head, process, keep=False, **changes, status="running", due="now")
        return Written(changed, sends(process, changed.revision))
    return go_on(write(head, process, keep=True, **changes, status="running", due="now"), process, outcome, scenario)


def park(head: Head, process: Process, changes: dict[str, Any], scenario: Scenario) -> Written:
    """Rule 5: a new revision and a new timer, or a continuation at once if wake_at has passed by the commit."""
    due = {"pending": "later", "due": "now", "forever": ""}[changes["wake"]]
    parked = write(head, process, keep=False, **changes, status="waiting", due=due)
    silent = parked.wake == "due" and scenario.broken is Mutant.PARK_AGAIN_SENDS_TIMER_ONLY
    if parked.wake == "forever" or silent:
        return Written(parked, deletes(process))
    return Written(parked, sends(process, parked.revision))


def go_on(head: Head, process: Process, outcome: str, scenario: Scenario) -> Written:
    """The lease is kept: the same invocation takes the next action (after a start mark, its body)."""
    if scenario.broken is Mutant.KEPT_LEASE_RESETS_CLAIMS:
        head = head._replace(claims=0)
    place, step = ("body", process.step) if outcome == "mark" else replay(head, scenario)
    return Written(
        head,
        process._replace(
            place=place, step=step, revision=head.revision, seen=head.inbox, found=False, marked=outcome == "mark"
        ),
    )


def given_back(head: Head, process: Process, outcome: str, scenario: Scenario) -> dict[str, Any]:
    """What is recorded under a verb: the outcome. Where a body was about to begin it does not, and leaves no trace.

    No start mark, for nothing ran that could be charged; and claims as this claim found it, for with zero the body that
    an earlier claim may have run would be forgotten, and with one more the rollback would take this one for started.
    """
    if outcome in ("mark", "body") and scenario.broken is not Mutant.MARK_WITHOUT_BODY:
        forgets = scenario.broken is Mutant.GIVING_BACK_FORGETS_CLAIMS
        return {"claims": 0 if forgets else int(process.found), "passed": head.passed}
    return entries(head, process, outcome, scenario)


def under_pause(head: Head, process: Process, outcome: str, scenario: Scenario) -> Written:
    """Rule 4: the outcome is recorded, the lease is given back, nothing is sent; the due entry stays away."""
    changes = given_back(head, process, outcome, scenario)
    return Written(write(head, process, keep=False, **changes), deletes(process))


def under_cancel(head: Head, process: Process, outcome: str, scenario: Scenario) -> Written:
    """Rule 4: the outcome is recorded, the lease is given back, a continuation is sent; due stays as cancel set it."""
    changes = given_back(head, process, outcome, scenario) | {"wake": ""}
    changed = write(head, process, keep=False, **changes)
    if scenario.broken is Mutant.CANCELLED_HOLDER_SENDS_NOTHING:
        return Written(changed, deletes(process))
    return Written(changed, sends(process, changed.revision))
