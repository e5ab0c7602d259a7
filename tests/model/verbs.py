"""Rule 7: what clients ask for. A verb is one write, conditional on the status, that never touches lease or fence.

Messages are deleted while an execution is at rest, or parked without a wake time. Whoever deletes one may have decided so
long before; therefore every verb that ends such a state raises the revision: the message that is about to be deleted
can't be claimed any more, and nothing will depend on it.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.model.delivery import parked
from tests.model.scenario import Mutant, Scenario
from tests.model.state import AT_REST, BACKWARD, FORWARD, TERMINAL, Head, Process


class Asked(NamedTuple):
    """What a verb leaves behind; `client` is the process that still has something to do."""

    head: Head
    client: Process | None = None
    relayed: bool = False


def ask(head: Head, verb: str, scenario: Scenario) -> Asked | None:
    """The verb on this head; None where it is refused, or changes nothing."""
    match verb.rstrip(" 23"):
        case "start again":
            return start_again(head)
        case "pause":
            return pause(head)
        case "resume":
            return resume(head, scenario)
        case "cancel":
            return cancel(head, scenario)
        case "terminate":
            return terminate(head)
        case "send":
            return send(head, scenario)
        case _:
            raise ValueError(verb)


def start_again(head: Head) -> Asked | None:
    """At revision 0 the continuation may never have been sent, so it is sent again."""
    return Asked(head, Process("client", "send")) if head.revision == 0 and head.status == "pending" else None


def pause(head: Head) -> Asked | None:
    """Writes the status and takes the due entry away. A rollback is not paused."""
    return Asked(head._replace(status="paused", due="")) if head.status in FORWARD else None


def resume(head: Head, scenario: Scenario) -> Asked | None:
    """Raises the revision; due when the parking ends, or at once."""
    if head.status not in AT_REST:
        return None
    raised = 0 if scenario.broken is Mutant.RESUME_KEEPS_REVISION else 1
    resumed = head._replace(status="waiting" if head.wake else "running", revision=head.revision + raised, due="now")
    if parked(head) and scenario.broken is not Mutant.RESUME_IS_DUE_NOW:
        resumed = resumed._replace(due="" if head.wake == "forever" else "later")
        if head.wake == "forever":
            return Asked(resumed)
    return Asked(resumed, Process("client", "send", revision=resumed.revision))


def cancel(head: Head, scenario: Scenario) -> Asked | None:
    """Raises the revision, writes status and due = now, and ends the parking (a rollback waits for no sleep); sends."""
    if head.status in TERMINAL | BACKWARD or head.status == "diverged":
        return None
    wake = head.wake if scenario.broken is Mutant.CANCEL_KEEPS_WAKE else ""
    raised = 0 if scenario.broken is Mutant.CANCEL_KEEPS_REVISION else 1
    cancelled = head._replace(
        status="cancelling", ending="cancelled", revision=head.revision + raised, wake=wake, due="now"
    )
    return Asked(cancelled, Process("client", "send", revision=cancelled.revision), relayed=True)


def terminate(head: Head) -> Asked | None:
    """Writes the status and the index attributes."""
    return None if head.status in TERMINAL else Asked(head._replace(status="terminated", due=""))


def send(head: Head, scenario: Scenario) -> Asked | None:
    """Two actions before the continuation: the transaction (message, inbox + 1, due = now), and a read of the revision.

    The transaction is conditional on the inbox and tried again, which makes its own first read invisible.
    """
    if head.status in TERMINAL:
        return None
    if scenario.broken is Mutant.SEND_READS_FIRST:
        return Asked(head, Process("client", "write", revision=head.revision))
    return Asked(into_inbox(head, scenario), Process("client", "read"))


def into_inbox(head: Head, scenario: Scenario) -> Head:
    """The transaction of send. Where only a message wakes the execution, it raises the revision too."""
    raised = 1 if head.wake == "forever" and scenario.broken is not Mutant.SEND_KEEPS_REVISION else 0
    return head._replace(inbox=head.inbox + 1, revision=head.revision + raised, due="now")
