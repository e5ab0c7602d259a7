"""What workers and upkeep write: each is one conditional update of a head. What clients write is in `commands`.

The rules are numbered as in ARCHITECTURE.md; `tests/model` checks them against every order of crashes and deliveries
that it can reach. Change the model first.

No write is ever made from a terminal head, and each that may be repeated after a lost answer carries a nonce, by which
it is recognised on the head.
"""

from __future__ import annotations

from msgspec import UNSET, Struct

from durable.codec import formats
from durable.protocol.checkpoint import Checkpoint
from durable.protocol.continuation import Continuation
from durable.protocol.expiry import expires
from durable.protocol.head import ENDING, FORWARD, ROLLBACK_FAILED, TERMINAL, Head, Status, list_key
from durable.protocol.updates import Changes, Counts, HasEnded, Update, Where, open_head
from durable.protocol.wakes import STALE, due_after_checkpoint, due_at
from durable.usercode.durations import FOREVER

PURGE_TIME = 20 * 60_000  # longer than any function runs
OPEN = frozenset(Status) - TERMINAL


class Stored(Struct, frozen=True):
    """Where a checkpoint leaves the history, the document and the marks of taken messages."""

    tail: bytes
    segment: str
    segments: int
    state: bytes | None = None  # None: the document stays as it is
    state_at: str = ""
    consumed: int = 0  # messages taken
    taken: str = ""  # up to which number, by queue


def claim(continuation: Continuation, phase: str, message_id: str, nonce: str, now: int, lease: int) -> Update:
    """Rule 2: take the execution for one invocation. Rollback claims are counted by themselves (rules 9 and 10).

    The head gets the format of this code, for what the invocation records is of that: older code leaves it alone then.
    """
    forward = phase == "forward"
    write: Changes = {"format": formats.FORMAT, "lease": lease, "message": message_id, "nonce": nonce}
    if forward:
        write |= {"status": Status.RUNNING, "claimed": now}
    add: Counts = {"fence": 1, "claims": 1} if forward else {"fence": 1, "undoing": 1}
    where = Where(
        status=FORWARD if forward else ENDING,
        revision=continuation.revision,
        free_at=now,
        unparked_at=now,
        birth=None if continuation.birth is UNSET else continuation.birth,
    )
    return Update(continuation.execution, where, write, add)


def checkpoint(
    head: Head, wanted: Checkpoint, stored: Stored, nonce: str, now: int, *, rollback_failed: bool = False
) -> Update:
    """Rule 4: record, in one write, what happened and how the execution goes on; `head` is as it was last seen."""
    status, resume_to = settled_status(open_head(head), wanted.status)
    keep = wanted.keep and status is wanted.status  # a command that came in takes the lease back
    wake = 0 if status in (Status.CANCELLING, Status.FAILING) or keep else min(wanted.wake, FOREVER)
    write: Changes = {
        "status": status,
        "resume_to": resume_to,
        "revision": head.revision + 1,
        "nonce": nonce,
        "dead": 0,
        "wake": wake,
        "seen": wanted.inbox if wanted.inbox is not None else head.inbox if wake else head.seen,
        "tail": stored.tail,
        "segment": stored.segment,
        "segments": stored.segments,
    }
    if not keep:
        write["lease"] = 0
    if not wanted.rollback:
        unused = status is Status.DIVERGED or status is not wanted.status
        write["claims"] = claims_after(head, wanted, keep=keep, unused=unused)
    elif head.undoing:
        write["undoing"] = int(keep)
    if rollback_failed:
        write["rollback"] = ROLLBACK_FAILED
    if stored.consumed:
        write |= {"consumed": stored.consumed, "taken": stored.taken}
    if stored.state is not None:
        write |= {"state": stored.state, "state_at": stored.state_at}
    write |= ended(head, now) if status in TERMINAL else due_after_checkpoint(head, status, wake, now)
    where = Where(
        birth=head.birth,
        status=frozenset({head.status}),
        revision=head.revision,
        fence=head.fence,
        inbox=wanted.inbox if status is Status.WAITING else None,
        state=None if stored.state is None else (head.state, head.state_at),
    )
    return Update(head.execution_id, where, write)


def claims_after(head: Head, wanted: Checkpoint, *, keep: bool, unused: bool) -> int:
    """Return the forward claims whose bodies are not accounted for (rules 4 and 9).

    A command that takes the lease back before this invocation ran a body leaves those that the claim found; so does a
    divergence, after which the execution may be cancelled.
    """
    if unused and not wanted.ran:
        return max(0, head.claims - 1)
    return 1 if keep else 0


def settled_status(head: Head, wanted: Status) -> tuple[Status, str]:
    """Return the status after a checkpoint, and the one to resume to: a command that came in meanwhile stands."""
    if head.terminal:
        raise HasEnded(head)
    if head.status is Status.PAUSED:
        return Status.PAUSED, Status.RUNNING if wanted in (*TERMINAL, Status.DIVERGED) else wanted
    if head.status is Status.CANCELLING and wanted in (*FORWARD, Status.FAILING, Status.COMPLETED):
        return Status.CANCELLING, ""
    if wanted is Status.DIVERGED:
        return Status.DIVERGED, head.status if head.status in ENDING else Status.RUNNING
    return wanted, ""


def give_back(head: Head, nonce: str, now: int) -> Update:
    """Rule 4: give the lease back although what a body did could not be recorded: its claim stays unaccounted for."""
    write: Changes = {"revision": open_head(head).revision + 1, "nonce": nonce, "lease": 0}
    write |= due_after_checkpoint(head, head.status, 0, now)
    where = Where(birth=head.birth, status=frozenset({head.status}), revision=head.revision, fence=head.fence)
    return Update(head.execution_id, where, write)


def fence_off(head: Head, now: int) -> Update:
    """Rule 3: let whoever has claimed the execution, and is late, write nothing more. The revision stays."""
    where = Where(birth=open_head(head).birth, status=frozenset({head.status}), revision=head.revision, free_at=now)
    return Update(head.execution_id, where, {}, {"fence": 1})


def ended(head: Head, now: int) -> Changes:
    """Return what every write sets that ends an execution."""
    return {
        **due_at(head.execution_id, expires(now)),
        "list_key": list_key(head.workflow, head.execution_id, is_open=False),
        "ended": now,
    }


def dead_letter(head: Head, message_id: str, tail: bytes | None, status: Status, now: int, *, counted: bool) -> Update:
    """Rule 11: what a dead letter changes. A new revision, so that the old message can't come back; `dead` counts.

    A new fence too: nothing that is late may write any more. Of those that fail an execution none counts against its
    rollback.
    """
    write: Changes = {"revision": open_head(head).revision + 1, "message": message_id}
    if tail is not None:
        write["tail"] = tail
    ends = status is not head.status
    if ends:
        write |= {"status": status, "wake": 0, "dead": 0}
        write |= ended(head, now) if status in TERMINAL else due_after_checkpoint(head, status, 0, now)
        if head.status in ENDING:
            write["rollback"] = ROLLBACK_FAILED
    where = Where(birth=head.birth, status=frozenset({head.status}), revision=head.revision, free_at=now)
    return Update(head.execution_id, where, write, {"fence": 1, "dead": 1} if counted and not ends else {"fence": 1})


def sweep(head: Head, seen: int, now: int) -> Update:
    """Rule 12: move the due time that was read forward, so that one sweep sends one continuation."""
    where = Where(birth=open_head(head).birth, status=OPEN, due=seen, revision=head.revision, free_at=now)
    return Update(head.execution_id, where, due_at(head.execution_id, now + STALE))


def purge(head: Head, now: int) -> Update:
    """Take the deletion of an expired execution, for one process at a time: the id may be used again when it is done."""
    where = Where(birth=head.birth, status=TERMINAL, unpurged_at=now)
    return Update(head.execution_id, where, {"purging": now + PURGE_TIME})
