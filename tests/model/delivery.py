"""Rules 1 to 3: what a message does when it arrives, and the claim."""

from __future__ import annotations

from tests.model.replay import frontier, replay
from tests.model.scenario import Mutant, Scenario
from tests.model.state import AT_REST, BACKWARD, FORWARD, TERMINAL, Head, Message, Process, stale


def parked(head: Head) -> bool:
    """Parked, not due, and nothing new in the inbox. Parking is independent of the status: rollbacks back off too."""
    return head.wake in ("pending", "forever") and head.inbox == head.seen


def claimable(head: Head) -> bool:
    """Rule 2, the condition of a claim but for its revision."""
    return head.status in FORWARD | BACKWARD and head.lease == "free" and not parked(head)


def unaccounted(head: Head) -> int:
    """Claims in this direction that were not given back by a checkpoint."""
    return head.undoing if head.status in BACKWARD else head.claims


def verdict(head: Head, message: Message, broken: Mutant | None) -> str:
    """Rule 3: the delivery table, in its order. A message is deleted only for a reason that can never cease to hold.

    | the head                        | the message                                    |
    |---------------------------------|------------------------------------------------|
    | terminal                        | delete                                         |
    | newer, claimed from another     | delete                                         |
    | newer, claimed from this one    | lease held: hold; at rest: delete              |
    | ... else                        | resend, with a new fence if it was not given back |
    | of its revision, lease held     | hold                                           |
    | of its revision, at rest        | delete (resume raises the revision)            |
    | of its revision, parked         | hold, or delete where no time ends the wait    |
    | of its revision, else           | claim                                          |
    """
    if head.status in TERMINAL:
        return "delete"
    if stale(head, message):
        return "delete"
    if message.revision < head.revision:
        if head.lease != "free":
            return "hold"
        return "delete" if head.status in AT_REST else "resend"
    if head.lease != "free" and not (head.lease == "held" and broken is Mutant.LEASE_NOT_CHECKED):
        return "delete" if broken is Mutant.BUSY_DELETED else "hold"
    if head.status in AT_REST:
        return "delete"
    if parked(head):
        return "delete" if head.wake == "forever" or broken is Mutant.EARLY_DELETED else "hold"
    return "claim"


def fenced(head: Head, broken: Mutant | None) -> Head:
    """Before a message is replaced: a holder that has not given the execution back may be late, and writes nothing more.

    Else it would move the execution on once more, and could die before it sends, with its own message deleted. The revision
    stays: two copies of the message may do this, and each sends what the other's deletion must not take away.
    """
    if not (head.claims or head.undoing) or broken is Mutant.LATE_HOLDER_NOT_FENCED:
        return head
    return head._replace(fence=head.fence + 1)


def claim(head: Head, message: Message, scenario: Scenario) -> tuple[Head, Process]:
    """Rule 2: lease, fence, identity of the message, nonce and (forward only, rule 9) one more claim.

    The two kinds of claim are two writes in the product; a hint in the message says which to try first, and the refusal
    of the wrong one returns the head for the other. What counts is the write that is accepted, so here they are one.
    """
    forward = head.status in FORWARD
    claimed = head._replace(
        lease="held",
        fence=head.fence + 1,
        nonce=0,
        claim_message=0 if scenario.broken is Mutant.MESSAGE_WITHOUT_IDENTITY else message.id,
        due="" if scenario.broken is Mutant.CLAIM_REMOVES_DUE else head.due,
    )
    if forward or scenario.broken is Mutant.ROLLBACK_CLAIM_COUNTS:
        claimed = claimed._replace(claims=1)
    if not forward:
        step = next_rollback(claimed._replace(claims=head.claims), scenario)
        place = start_rollback(head, scenario, step)
        return claimed._replace(undoing=1), Process(
            "worker", place, message.id, fence=claimed.fence, revision=head.revision, step=step, seen=head.inbox
        )
    claimed = claimed._replace(status="running", passed=head.wake == "due")
    place, step = replay(claimed, scenario, claims_found=head.claims)
    return claimed, Process(
        "worker",
        place,
        message.id,
        fence=claimed.fence,
        revision=head.revision,
        step=step,
        seen=head.inbox,
        found=head.claims > 0,
    )


def eligible(head: Head, scenario: Scenario) -> tuple[int, ...]:
    """Rule 9: the recorded steps, and the one at the frontier where a body may have run; the last one started first.

    The set is fixed by the first checkpoint of the rollback, which also writes the frontier's step as unfinished.
    """
    if head.eligible is not None and scenario.broken is not Mutant.SET_NOT_FIXED:
        return head.eligible
    steps = [index for index in range(head.recorded) if scenario.workflow[index].kind == "step"]
    at = frontier(head, scenario)
    if at is not None and (head.claims or head.attempts or head.marks):
        steps.append(at)
    return tuple(reversed(steps))


def start_rollback(head: Head, scenario: Scenario, step: int) -> str:
    """Rule 10, for rollbacks: where an earlier claim ended without a checkpoint, the start is recorded before the body."""
    if step < 0:
        return "end"
    if head.undo_marks and head.undo_attempts + head.undo_marks >= scenario.workflow[step].undo_attempts:
        return "undo exhaust"
    return "undo mark" if head.undoing and scenario.broken is not Mutant.NO_ROLLBACK_MARK else "undo"


def next_rollback(head: Head, scenario: Scenario) -> int:
    """The step to roll back next, or -1."""
    return next((step for step in eligible(head, scenario) if step not in head.rolled_back), -1)
