"""What clients write, each as a whole: what it demands of the head and what it leaves (rule 7)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from durable.protocol import commands
from durable.protocol.expiry import RETENTION
from durable.protocol.head import AT_REST, FORWARD, TERMINAL, Head, Status, shard
from durable.protocol.updates import Update, Where
from durable.protocol.wakes import STALE
from durable.usercode.durations import FOREVER
from tests.protocol.heads import EARLIER, LATER, NOW, RUNNING, head

SHARD = shard("order-1")
HELD = replace(RUNNING, lease=LATER, fence=3, claims=1, due=NOW + STALE, due_shard=SHARD, asked="anotherr")
ASKED = {"asked": "anotherridentity"}
NOW_DUE = {"due": NOW, "due_shard": SHARD}


def where(**conditions: Any) -> Where:
    return Where(birth=EARLIER, asked="anotherr", **conditions)


@pytest.mark.rule("R12", "E3")
@pytest.mark.parametrize("rollback", [True, False])
def test_a_cancel_ends_every_wait_and_is_due_at_once(rollback: bool) -> None:
    update = commands.cancel(replace(HELD, wake=LATER), "identity", NOW, rollback=rollback)

    write: Any = {"status": Status.CANCELLING, "resume_to": "", "revision": 6, "wake": 0} | NOW_DUE | ASKED
    demanded = where(status=FORWARD | AT_REST, revision=5)
    assert update == Update("order-1", demanded, write | {"skip_rollback": 0 if rollback else 1})


@pytest.mark.rule("E7")
def test_a_pause_takes_the_due_time_away_and_remembers_where_it_was() -> None:
    write: Any = {"status": Status.PAUSED, "resume_to": Status.RUNNING, "due": 0, "due_shard": ""} | ASKED
    demanded = where(status=frozenset({Status.RUNNING}))
    assert commands.pause(HELD, "identity") == Update("order-1", demanded, write)


@pytest.mark.rule("R12", "E9")
def test_a_terminated_execution_is_due_for_its_purge() -> None:
    write: Any = {
        "status": Status.TERMINATED,
        "resume_to": "",
        "due": NOW + RETENTION,
        "due_shard": SHARD,
        "ended": NOW,
    }
    closed = {"list_key": f"checkout#closed#{SHARD}"} | ASKED
    demanded = where(status=frozenset(Status) - TERMINAL)
    assert commands.terminate(HELD, "identity", NOW) == Update("order-1", demanded, write | closed)


@pytest.mark.rule("E3", "E7", "R12")
def test_commands_that_end_a_rest_raise_the_revision_and_the_others_do_not() -> None:
    paused = replace(HELD, status=Status.PAUSED)
    raising = [commands.cancel(paused, "identity", NOW, rollback=True), commands.resume(paused, "identity", NOW)]
    keeping = [commands.terminate(HELD, "identity", NOW), commands.pause(HELD, "identity")]
    assert [(update.write["revision"], update.where.revision) for update in raising] == [(6, 5)] * 2
    assert [update.write.get("revision") for update in keeping] == [None] * 2


@pytest.mark.rule("E7", "E3")
@pytest.mark.parametrize(
    ("paused", "status", "due"),
    [
        (head(resume_to=Status.RUNNING), Status.RUNNING, NOW),
        (head(resume_to=Status.WAITING, wake=LATER), Status.WAITING, LATER),
        (head(resume_to=Status.WAITING, wake=LATER, inbox=1), Status.WAITING, NOW),
        (head(resume_to=Status.WAITING, wake=NOW), Status.WAITING, NOW),
        (head(resume_to=Status.WAITING, wake=FOREVER), Status.WAITING, 0),
        (head(resume_to=Status.FAILING), Status.FAILING, NOW),
        (head(resume_to=Status.CANCELLING), Status.CANCELLING, NOW),
    ],
)
def test_a_resumed_execution_is_due_when_something_can_happen(paused: Head, status: Status, due: int) -> None:
    update = commands.resume(replace(paused, status=Status.PAUSED, asked="anotherr"), "identity", NOW)

    demanded = where(status=frozenset({Status.PAUSED}), revision=5, inbox=paused.inbox)
    write: Any = {"status": status, "resume_to": "", "revision": 6}
    shown = {"due": due, "due_shard": SHARD if due else ""} | ASKED
    assert update == Update("order-1", demanded, write | shown)


@pytest.mark.rule("Q2", "Q5", "E3")
@pytest.mark.parametrize(
    ("standing", "conditions", "write", "add"),
    [
        (HELD, {"asleep": False}, NOW_DUE, {"inbox": 1}),
        (replace(HELD, wake=LATER), {"asleep": False}, NOW_DUE, {"inbox": 1}),
        (replace(HELD, wake=FOREVER), {"asleep": True, "revision": 5}, NOW_DUE, {"inbox": 1, "revision": 1}),
        (replace(HELD, wake=FOREVER + 1), {"asleep": True, "revision": 5}, NOW_DUE, {"inbox": 1, "revision": 1}),
        (replace(HELD, status=Status.PAUSED), {"asleep": False}, {}, {"inbox": 1}),
    ],
)
def test_a_send_wakes_and_gives_what_sleeps_for_ever_a_new_revision(
    standing: Head, conditions: dict[str, Any], write: Any, add: Any
) -> None:
    demanded = where(status=frozenset({standing.status}), inbox=0, **conditions)
    assert commands.send(standing, "identity", NOW) == Update("order-1", demanded, write | ASKED, add)


@pytest.mark.rule("E8")
def test_an_action_demands_that_nobody_holds_the_lease_and_the_document_is_as_it_was_read() -> None:
    standing = replace(HELD, state=b"old")
    demanded = where(status=frozenset(Status) - TERMINAL, free_at=NOW, state=(b"old", ""))
    write: Any = {"state": b"", "state_at": "key"}
    assert commands.act(standing, "identity", b"", "key", NOW) == Update("order-1", demanded, write | ASKED)


@pytest.mark.rule("E14")
def test_a_write_is_known_by_its_identity_until_eight_others_have_come() -> None:
    standing = RUNNING
    for number in range(10):
        identity = commands.identity_of(f"nonce-{number}")
        standing = replace(standing, asked=commands.pause(standing, identity).write["asked"])
        known = [commands.applied(standing, commands.identity_of(f"nonce-{at}")) for at in range(number + 1)]
        assert known == [at > number - 8 for at in range(number + 1)]
