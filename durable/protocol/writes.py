"""The writes of the protocol: each is one conditional update of a head, made here and nowhere else.

The rules are numbered as in ARCHITECTURE.md; `tests/model` checks them against every order of crashes and deliveries
that it can reach. Change the model first.
"""

from __future__ import annotations

from msgspec import Struct

from durable.engine.entries import FOREVER
from durable.protocol.continuation import Continuation
from durable.protocol.head import (
    AT_REST,
    ENDING,
    FORWARD,
    ROLLBACK_FAILED,
    TERMINAL,
    Head,
    Status,
    list_key,
    shard,
)
from durable.protocol.updates import Update, Where

STALE = 5 * 60_000  # a running execution of which nothing was heard for so long is looked at by the sweeper
REFRESH = 2 * 60_000  # the due time is moved when less than this is left: an index write costs as much as a checkpoint
PURGE_TIME = 20 * 60_000  # longer than any function runs
RETENTION = 30 * 86_400_000  # a terminal execution is kept so long


class Plan(Struct, frozen=True):
    """What a checkpoint is to record: the history as it then is, and how the execution goes on."""

    status: Status
    keep: bool  # keep the lease and go on
    tail: bytes
    segment: str
    segments: int
    wake: int = 0
    inbox: int | None = None  # parks only if this is still the inbox (rule 5)
    state: bytes | None = None
    state_at: str = ""
    ran: bool = False  # it records the outcome of a body
    consumed: int = 0  # messages taken
    taken: str = ""  # up to which number, by queue
    rollback_failed: bool = False  # it ends, and something is not undone (R10)


def claim(continuation: Continuation, phase: str, message_id: str, nonce: str, now: int, lease: int) -> Update:
    """Rule 2: take the execution for one invocation. Rollback claims are counted by themselves (rules 9 and 10)."""
    forward = phase == "forward"
    write: dict[str, object] = {"lease": lease, "message": message_id, "nonce": nonce}
    if forward:
        write |= {"status": Status.RUNNING, "claimed": now}
    return Update(
        continuation.execution,
        Where(
            status=FORWARD if forward else ENDING,
            revision=continuation.revision,
            free_at=now,
            unparked_at=now,
        ),
        write,
        {"fence": 1, "claims" if forward else "undoing": 1},
    )


def checkpoint(head: Head, plan: Plan, nonce: str, now: int) -> Update:
    """Rule 4: record, in one write, what happened and how the execution goes on; `head` is as it was last seen."""
    status, resume_to = settled_status(head, plan.status)
    keep = plan.keep and status is plan.status  # a verb that came in takes the lease back
    wake = 0 if status in (Status.CANCELLING, Status.FAILING) or keep else plan.wake
    write: dict[str, object] = {
        "status": status,
        "resume_to": resume_to,
        "revision": head.revision + 1,
        "nonce": nonce,
        "dead": 0,
        "wake": wake,
        "seen": plan.inbox if plan.inbox is not None else head.inbox if wake else head.seen,
        "tail": plan.tail,
        "segment": plan.segment,
        "segments": plan.segments,
    }
    if not keep:
        write["lease"] = 0
    diverged = plan.status is Status.DIVERGED and head.status not in ENDING
    if diverged or plan.status in (*FORWARD, Status.FAILING, Status.COMPLETED):
        write["claims"] = claims_after(head, plan, keep=keep, unused=diverged or status is not plan.status)
    if head.undoing:
        write["undoing"] = int(keep)
    if plan.rollback_failed:
        write["rollback"] = ROLLBACK_FAILED
    if plan.consumed:
        write |= {"consumed": plan.consumed, "taken": plan.taken}
    if plan.state is not None:
        write |= {"state": plan.state, "state_at": plan.state_at}
    write |= due(head, status, wake, now)
    return Update(
        head.execution_id,
        Where(
            status=frozenset({head.status}),
            revision=head.revision,
            fence=head.fence,
            inbox=plan.inbox if status is Status.WAITING else None,
        ),
        write,
    )


def claims_after(head: Head, plan: Plan, *, keep: bool, unused: bool) -> int:
    """The forward claims whose bodies are not accounted for (rules 4 and 9); a rollback claim leaves them as they are.

    A verb that takes the lease back before this invocation ran a body leaves those that the claim found; so does a
    divergence, after which the execution may be cancelled.
    """
    if unused and not plan.ran:
        return max(0, head.claims - 1)
    return 1 if keep else 0


def settled_status(head: Head, wanted: Status) -> tuple[Status, str]:
    """The status after a checkpoint and the one to resume to: a verb that came in while the lease was held stands."""
    if head.status is Status.PAUSED:
        return Status.PAUSED, Status.RUNNING if wanted in (*TERMINAL, Status.DIVERGED) else wanted
    if head.status is Status.CANCELLING and wanted in (*FORWARD, Status.FAILING, Status.COMPLETED):
        return Status.CANCELLING, ""
    if wanted is Status.DIVERGED:
        return Status.DIVERGED, head.status if head.status in ENDING else Status.RUNNING
    return wanted, ""


def due(head: Head, status: Status, wake: int, now: int) -> dict[str, object]:
    """The index attributes that a change to this status brings; empty when they stay."""
    if status in TERMINAL:
        return {
            "due": now + RETENTION,
            "due_shard": shard(head.execution_id),
            "list_key": list_key(head.workflow, head.execution_id, is_open=False),
            "ended": now,
        }
    if status in AT_REST or wake == FOREVER:
        return {"due": 0, "due_shard": ""}
    if wake:
        moment = wake
    elif status is Status.FAILING:
        moment = now
    elif fresh_enough(head, status, now):
        return {}
    else:
        moment = now + STALE
    return {"due": moment, "due_shard": shard(head.execution_id)}


def fresh_enough(head: Head, status: Status, now: int) -> bool:
    """Whether the due time may stay: an execution that is ending keeps the one that its verb or failure wrote."""
    if status in (Status.CANCELLING, Status.ROLLING_BACK):
        return bool(head.due) and not head.wake
    return now + REFRESH < head.due <= now + STALE


def cancel(head: Head, now: int, *, rollback: bool) -> Update:
    """Rule 7: end with rollback, once what runs is settled. Lease and fence are not touched.

    The revision is: messages of a paused execution are deleted, and one that is being deleted must not claim it again.
    """
    return Update(
        head.execution_id,
        Where(status=FORWARD | AT_REST, revision=head.revision),
        {
            "status": Status.CANCELLING,
            "revision": head.revision + 1,
            "resume_to": "",
            "skip_rollback": 0 if rollback else 1,
            "wake": 0,
            "due": now,
            "due_shard": shard(head.execution_id),
        },
    )


def terminate(head: Head, now: int) -> Update:
    """Rule 7: end at once, with no rollback."""
    return Update(
        head.execution_id,
        Where(status=frozenset(Status) - TERMINAL),
        {"status": Status.TERMINATED, "resume_to": "", **due(head, Status.TERMINATED, 0, now)},
    )


def pause(head: Head) -> Update:
    """Rule 7: do nothing more until resumed; the running step is recorded first."""
    return Update(
        head.execution_id,
        Where(status=frozenset({head.status})),
        {"status": Status.PAUSED, "resume_to": head.status, "due": 0, "due_shard": ""},
    )


def resume(head: Head, now: int) -> Update:
    """Rule 7: go on where it was; parked and not due: wait for the rest of the time."""
    status = Status(head.resume_to or Status.RUNNING)
    wake = head.wake if head.parked(now) and status not in (Status.FAILING, Status.CANCELLING) else 0
    moment = 0 if wake == FOREVER else wake or now
    return Update(
        head.execution_id,
        Where(status=frozenset({head.status}), revision=head.revision, inbox=head.inbox),
        {
            "status": status,
            "resume_to": "",
            "revision": head.revision + 1,
            "due": moment,
            "due_shard": shard(head.execution_id) if moment else "",
        },
    )


def act(head: Head, state: bytes, state_at: str, now: int) -> Update:
    """Rule 7: an action changes the document, while nobody holds the lease and it is as it was read."""
    where = Where(status=frozenset(Status) - TERMINAL, free_at=now, state=(head.state, head.state_at))
    return Update(head.execution_id, where, {"state": state, "state_at": state_at})


def send(head: Head, now: int) -> Update:
    """Rule 7: a message comes in. Written together with the message, and only if the inbox is as it was read.

    One that slept without a wake time gets a new revision: its messages are deleted, and one that is being deleted must
    not claim it again.
    """
    asleep = head.wake == FOREVER
    write: dict[str, object] = {} if head.status in AT_REST else {"due": now, "due_shard": shard(head.execution_id)}
    where = Where(
        status=frozenset({head.status}), inbox=head.inbox, asleep=asleep, revision=head.revision if asleep else None
    )
    return Update(head.execution_id, where, write, {"inbox": 1, "revision": 1} if asleep else {"inbox": 1})


def bury(head: Head, message_id: str, tail: bytes | None, status: Status, now: int, *, counted: bool) -> Update:
    """Rule 11: what a dead letter changes. A new revision, so that the old message can't come back; `dead` counts.

    Of those that fail an execution none counts against its rollback.
    """
    write: dict[str, object] = {"revision": head.revision + 1, "message": message_id}
    if tail is not None:
        write["tail"] = tail
    ends = status is not head.status
    if ends:
        write |= {"status": status, "wake": 0, "dead": 0, **due(head, status, 0, now)}
        if head.status in ENDING:
            write["rollback"] = ROLLBACK_FAILED
    return Update(
        head.execution_id,
        Where(status=frozenset({head.status}), revision=head.revision, free_at=now),
        write,
        {"dead": 1} if counted and not ends else {},
    )


def purge(head: Head, now: int) -> Update:
    """Take the purging of an expired execution, for one process at a time: the id may be used again when it is done."""
    return Update(
        head.execution_id,
        Where(status=TERMINAL, due=head.due, revision=head.revision),
        {"due": now + PURGE_TIME, "due_shard": shard(head.execution_id)},
    )


def sweep(head: Head, seen: int, now: int) -> Update:
    """Rule 12: move the due time that was read forward, so that one sweep sends one continuation."""
    return Update(
        head.execution_id,
        Where(due=seen, revision=head.revision, free_at=now),
        {"due": now + STALE, "due_shard": shard(head.execution_id)},
    )
