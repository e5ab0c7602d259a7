"""Rules 11 and 12: the dead letters and the sweeper."""

from __future__ import annotations

from typing import NamedTuple

from tests.model.checkpoint import deletes, sends
from tests.model.delivery import fenced, parked, unaccounted, verdict
from tests.model.rollback import ended
from tests.model.scenario import Mutant, Scenario
from tests.model.state import AT_REST, BACKWARD, TERMINAL, Head, Message, Process


class Handled(NamedTuple):
    """What the dead letter leaves behind; without a process it stays in its queue and comes again."""

    head: Head
    process: Process | None
    relayed: bool = False


def dead_letter(head: Head, message: Message, scenario: Scenario, *, known: bool) -> Handled:
    """Rule 11: the delivery table, with a write in the place of the claim. A dead letter proves nothing by itself.

    `known`: this process has the version of the workflow; without it, nothing is counted.
    """
    process = Process("dead letters", "", message.id)
    broken = scenario.broken
    decision = verdict(head, message, None)
    if decision == "delete":
        return Handled(fenced(head, broken) if head.status in AT_REST else head, deletes(process))
    if decision == "resend":
        return Handled(fenced(head, broken), sends(process, head.revision))
    if head.lease != "free" and broken is not Mutant.DEAD_LETTER_IGNORES_LEASE:
        return Handled(head, None)
    identity = head.claim_message if broken is Mutant.DEAD_LETTER_WITHOUT_IDENTITY else message.id
    written = head._replace(revision=head.revision + 1, claim_message=identity, fence=head.fence + 1)
    if parked(head) or not (known or broken is Mutant.UNKNOWN_VERSION_COUNTS):
        return Handled(written, sends(process, written.revision))
    written = written._replace(dead=head.dead + 1)
    enough = 2 if unaccounted(head) else 4
    if written.dead < enough and broken is not Mutant.DEAD_LETTER_FAILS_AT_ONCE:
        return Handled(written, sends(process, written.revision))
    if head.status in BACKWARD:
        return Handled(ended(written._replace(rollback_failed=True)), deletes(process))
    failing = written._replace(status="failing", ending="failed", wake="", due="now", dead=0)
    return Handled(failing, deletes(process), relayed=True)


def swept(head: Head) -> bool:
    """Rule 12: the sweeper sends to what is due, unleased and not at rest."""
    return head.due == "now" and head.lease == "free" and head.status not in TERMINAL | AT_REST
