"""What clients write: commands, messages and actions (rule 7). Each is one conditional update of a head.

None touches the lease or the fence. Each carries an identity, which stays on the head for a while: so a client whose write
was applied and whose answer was lost finds it there, and writes nothing twice.
"""

from __future__ import annotations

from msgspec.structs import replace

from durable.protocol.head import AT_REST, FORWARD, TERMINAL, Head, Status
from durable.protocol.updates import Changes, Counts, Update, Where, open_head
from durable.protocol.wakes import due_again, due_at
from durable.protocol.writes import ended
from durable.usercode.durations import FOREVER

IDENTITY = 8  # characters of an identity
REMEMBERED = 8  # identities that stay on the head


def cancel(head: Head, identity: str, now: int, *, rollback: bool) -> Update:
    """End with rollback, once what runs is settled.

    The revision is raised: messages of a paused execution are deleted, and one that is being deleted must not claim it
    again.
    """
    write: Changes = {
        "status": Status.CANCELLING,
        "revision": head.revision + 1,
        "resume_to": "",
        "skip_rollback": 0 if rollback else 1,
        "wake": 0,
        **due_at(head.execution_id, now),
    }
    return _command(head, identity, Where(status=FORWARD | AT_REST, revision=head.revision), write)


def terminate(head: Head, identity: str, now: int) -> Update:
    """End at once, with no rollback."""
    write: Changes = {"status": Status.TERMINATED, "resume_to": "", **ended(head, now)}
    return _command(head, identity, Where(status=frozenset(Status) - TERMINAL), write)


def pause(head: Head, identity: str) -> Update:
    """Do nothing more until resumed; the running step is recorded first."""
    write: Changes = {"status": Status.PAUSED, "resume_to": head.status, **due_at(head.execution_id, None)}
    return _command(head, identity, Where(status=frozenset({head.status})), write)


def resume(head: Head, identity: str, now: int) -> Update:
    """Go on where it was; parked and not due: wait for the rest of the time."""
    status = Status(head.resume_to or Status.RUNNING)
    wake = 0 if status in (Status.FAILING, Status.CANCELLING) else head.wake
    resumed = replace(head, status=status, wake=wake)
    write: Changes = {
        "status": status,
        "resume_to": "",
        "revision": head.revision + 1,
        **due_again(resumed, now),
    }
    where = Where(status=frozenset({head.status}), revision=head.revision, inbox=head.inbox)
    return _command(head, identity, where, write)


def act(head: Head, identity: str, state: bytes, state_at: str, now: int) -> Update:
    """Change the document, while nobody holds the lease and it is as it was read."""
    where = Where(status=frozenset(Status) - TERMINAL, free_at=now, state=(head.state, head.state_at))
    return _command(head, identity, where, {"state": state, "state_at": state_at})


def send(head: Head, identity: str, now: int) -> Update:
    """Take a message in. Written together with the message, and only if the inbox is as it was read.

    One that sleeps without a wake time gets a new revision: its messages are deleted, and one that is being deleted must
    not claim it again.
    """
    asleep = head.wake >= FOREVER
    write: Changes = {} if head.status in AT_REST else due_at(head.execution_id, now)
    where = Where(
        status=frozenset({head.status}), inbox=head.inbox, asleep=asleep, revision=head.revision if asleep else None
    )
    return _command(head, identity, where, write, {"inbox": 1, "revision": 1} if asleep else {"inbox": 1})


def identity_of(nonce: str) -> str:
    """Return the identity of a client's write."""
    return nonce[:IDENTITY].ljust(IDENTITY, "-")


def applied(head: Head, identity: str) -> bool:
    """Return whether a write of this identity is among the last that were applied."""
    return identity in _identities(head.asked)


def _command(head: Head, identity: str, where: Where, write: Changes, add: Counts | None = None) -> Update:
    remembered = [*_identities(open_head(head).asked), identity][-REMEMBERED:]
    changes: Changes = {**write, "asked": "".join(remembered)}
    return Update(head.execution_id, replace(where, birth=head.birth, asked=head.asked), changes, add or {})


def _identities(asked: str) -> list[str]:
    return [asked[at : at + IDENTITY] for at in range(0, len(asked), IDENTITY)]
