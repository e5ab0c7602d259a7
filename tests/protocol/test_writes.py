"""What workers and upkeep write, each as a whole: what it demands of the head and what it leaves (rules 2, 4, 11, 12)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from durable.codec.formats import FORMAT
from durable.protocol import commands, writes
from durable.protocol.checkpoint import Checkpoint, Continue, End, GiveBack, Next, Park
from durable.protocol.continuation import continuation_of
from durable.protocol.expiry import RETENTION
from durable.protocol.head import ENDING, FORWARD, TERMINAL, Status, shard
from durable.protocol.updates import Update, Where
from durable.protocol.wakes import STALE
from durable.protocol.writes import OPEN, PURGE_TIME, Stored, settled_status
from durable.usercode.durations import FOREVER
from tests.protocol.heads import EARLIER, LATER, NOW, RUNNING, head

SHARD = shard("order-1")
HELD = replace(RUNNING, lease=LATER, fence=3, claims=1, due=NOW + STALE, due_shard=SHARD)


@pytest.mark.rule("E4", "E3")
@pytest.mark.parametrize(
    ("phase", "statuses", "write", "add"),
    [
        ("forward", FORWARD, {"status": Status.RUNNING, "claimed": NOW}, {"fence": 1, "claims": 1}),
        ("rollback", ENDING, {}, {"fence": 1, "undoing": 1}),
    ],
)
def test_a_claim(phase: str, statuses: frozenset[Status], write: Any, add: Any) -> None:
    update = writes.claim(continuation_of(RUNNING), phase, "message", "nonce", NOW, LATER)

    where = Where(status=statuses, revision=5, free_at=NOW, unparked_at=NOW, birth=EARLIER)
    taken: Any = {"format": FORMAT, "lease": LATER, "message": "message", "nonce": "nonce"}
    assert update == Update("order-1", where, taken | write, add)


def wanted(following: Next, **options: Any) -> Checkpoint:
    return Checkpoint((), following, **options)


def write_of(standing: Any, checkpoint: Checkpoint) -> Any:
    return writes.checkpoint(standing, checkpoint, STORED, "nonce", NOW).write


STORED = Stored(b"tail", "", 0)
RECORDED = {"revision": 6, "nonce": "nonce", "dead": 0, "seen": 0, "tail": b"tail", "segment": "", "segments": 0}
KNOWN = Where(status=frozenset({Status.RUNNING}), revision=5, fence=3, birth=EARLIER)
BACK = {"resume_to": "", "wake": 0, "lease": 0, "claims": 0}


@pytest.mark.rule("E4", "E5")
@pytest.mark.parametrize(
    ("following", "where", "write"),
    [
        (Continue(), KNOWN, {"status": Status.RUNNING, "resume_to": "", "wake": 0, "claims": 1}),
        (GiveBack(), KNOWN, BACK | {"status": Status.RUNNING}),
        (
            Park(LATER, 2),
            replace(KNOWN, inbox=2),
            BACK | {"status": Status.WAITING, "wake": LATER, "seen": 2, "due": LATER, "due_shard": SHARD},
        ),
        *(
            (
                Park(until, 2),
                replace(KNOWN, inbox=2),
                BACK | {"status": Status.WAITING, "wake": FOREVER, "seen": 2, "due": 0, "due_shard": ""},
            )
            for until in (FOREVER, FOREVER + 1, 10**30)
        ),
        (End(Status.FAILING), KNOWN, BACK | {"status": Status.FAILING, "due": NOW, "due_shard": SHARD}),
        (
            End(Status.COMPLETED),
            KNOWN,
            BACK
            | {"status": Status.COMPLETED, "due": NOW + RETENTION, "due_shard": SHARD, "ended": NOW}
            | {"list_key": f"checkout#closed#{SHARD}"},
        ),
        (
            End(Status.DIVERGED),
            KNOWN,
            BACK | {"status": Status.DIVERGED, "resume_to": Status.RUNNING, "due": 0, "due_shard": ""},
        ),
    ],
)
def test_a_checkpoint(following: Next, where: Where, write: Any) -> None:
    assert writes.checkpoint(HELD, wanted(following), STORED, "nonce", NOW) == Update(
        "order-1", where, RECORDED | write
    )


@pytest.mark.rule("E8", "E4")
def test_a_checkpoint_that_changes_the_document_depends_on_what_it_was() -> None:
    standing = replace(HELD, state=b"old", state_at="")
    update = writes.checkpoint(standing, wanted(GiveBack()), replace(STORED, state=b"new"), "nonce", NOW)

    assert (update.where.state, update.write["state"], update.write["state_at"]) == ((b"old", ""), b"new", "")
    assert writes.checkpoint(standing, wanted(GiveBack()), STORED, "nonce", NOW).where.state is None


@pytest.mark.rule("R12", "E4", "E7")
@pytest.mark.parametrize(
    ("standing", "wanted", "becomes"),
    [
        (Status.RUNNING, Status.RUNNING, (Status.RUNNING, "")),
        (Status.RUNNING, Status.COMPLETED, (Status.COMPLETED, "")),
        (Status.PAUSED, Status.RUNNING, (Status.PAUSED, Status.RUNNING)),
        (Status.PAUSED, Status.WAITING, (Status.PAUSED, Status.WAITING)),
        (Status.PAUSED, Status.FAILING, (Status.PAUSED, Status.FAILING)),
        (Status.PAUSED, Status.COMPLETED, (Status.PAUSED, Status.RUNNING)),
        (Status.PAUSED, Status.DIVERGED, (Status.PAUSED, Status.RUNNING)),
        (Status.CANCELLING, Status.RUNNING, (Status.CANCELLING, "")),
        (Status.CANCELLING, Status.WAITING, (Status.CANCELLING, "")),
        (Status.CANCELLING, Status.FAILING, (Status.CANCELLING, "")),
        (Status.CANCELLING, Status.COMPLETED, (Status.CANCELLING, "")),
        (Status.CANCELLING, Status.ROLLING_BACK, (Status.ROLLING_BACK, "")),
        (Status.CANCELLING, Status.CANCELLED, (Status.CANCELLED, "")),
        (Status.CANCELLING, Status.DIVERGED, (Status.DIVERGED, Status.CANCELLING)),
        (Status.FAILING, Status.DIVERGED, (Status.DIVERGED, Status.FAILING)),
        (Status.ROLLING_BACK, Status.DIVERGED, (Status.DIVERGED, Status.ROLLING_BACK)),
    ],
)
def test_the_command_that_came_in_stands(standing: Status, wanted: Status, becomes: tuple[str, str]) -> None:
    assert settled_status(head(status=standing), wanted) == becomes


@pytest.mark.rule("R4", "R12")
@pytest.mark.parametrize(
    ("standing", "checkpoint", "claims"),
    [
        (Status.CANCELLING, wanted(Continue(), ran=True), 0),  # the body's outcome is recorded
        (Status.CANCELLING, wanted(Continue()), 1),  # no body ran: as the claim found it
        (Status.CANCELLING, wanted(End(Status.DIVERGED)), 1),
        (Status.PAUSED, wanted(Continue()), 1),
        (Status.RUNNING, wanted(End(Status.DIVERGED)), 1),
        (Status.RUNNING, wanted(Continue()), 1),
        (Status.RUNNING, wanted(GiveBack()), 0),
    ],
)
def test_a_body_that_may_have_run_is_not_forgotten(standing: Status, checkpoint: Checkpoint, claims: int) -> None:
    crashed = replace(HELD, status=standing, claims=2)
    assert write_of(crashed, checkpoint)["claims"] == claims


@pytest.mark.rule("R4")
@pytest.mark.parametrize("following", [GiveBack(), End(Status.CANCELLED), End(Status.DIVERGED)])
def test_a_rollback_leaves_the_forward_claims_as_they_are(following: Next) -> None:
    ending = replace(HELD, status=Status.CANCELLING)
    assert "claims" not in write_of(ending, wanted(following, rollback=True))


@pytest.mark.rule("R8", "S4")
@pytest.mark.parametrize(("following", "undoing"), [(Continue(), 1), (GiveBack(), 0)])
def test_a_checkpoint_accounts_for_the_rollback_claims_before_it(following: Next, undoing: int) -> None:
    ending = replace(HELD, status=Status.ROLLING_BACK, undoing=3)
    assert write_of(ending, wanted(following, rollback=True))["undoing"] == undoing


@pytest.mark.rule("R12", "E3")
@pytest.mark.parametrize("status", [Status.CANCELLING, Status.ROLLING_BACK])
def test_a_commit_while_it_is_ending_leaves_the_due_time_alone(status: Status) -> None:
    ending = replace(HELD, status=status, due=NOW - 1)
    assert "due" not in write_of(ending, wanted(GiveBack(), rollback=True))


@pytest.mark.rule("E3")
@pytest.mark.parametrize(("left", "moves"), [(STALE, False), (120_001, False), (120_000, True), (-1, True)])
def test_the_due_time_of_a_running_execution_moves_only_when_it_comes_near(left: int, moves: bool) -> None:
    write = write_of(replace(HELD, due=NOW + left), wanted(GiveBack()))
    assert write.get("due") == (NOW + STALE if moves else None)


@pytest.mark.rule("E4", "R4")
@pytest.mark.parametrize("status", [Status.RUNNING, Status.CANCELLING, Status.ROLLING_BACK])
def test_a_lease_that_is_given_back_with_nothing_recorded_leaves_the_history_and_the_claims(status: Status) -> None:
    update = writes.give_back(replace(HELD, status=status), "nonce", NOW)

    where = Where(status=frozenset({status}), revision=5, fence=3, birth=EARLIER)
    assert update == Update("order-1", where, {"revision": 6, "nonce": "nonce", "lease": 0})


@pytest.mark.rule("E4", "E6")
def test_a_late_holder_is_fenced_off_without_a_new_revision() -> None:
    """Two copies of its message may do it: each sends what the other's deletion must not take away."""
    where = Where(status=frozenset({Status.RUNNING}), revision=5, free_at=NOW, birth=EARLIER)
    assert writes.fence_off(RUNNING, NOW) == Update("order-1", where, {}, {"fence": 1})


@pytest.mark.rule("E6", "E4")
def test_a_dead_letter_takes_the_place_of_the_message_that_died_and_fences_off_what_is_late() -> None:
    update = writes.dead_letter(RUNNING, "letter", None, Status.RUNNING, NOW, counted=True)

    where = Where(status=frozenset({Status.RUNNING}), revision=5, free_at=NOW, birth=EARLIER)
    assert update == Update("order-1", where, {"revision": 6, "message": "letter"}, {"fence": 1, "dead": 1})
    uncounted = writes.dead_letter(RUNNING, "letter", None, Status.RUNNING, NOW, counted=False)
    assert uncounted == replace(update, add={"fence": 1})


@pytest.mark.rule("E6", "R4")
def test_a_dead_letter_leaves_the_claims_that_are_not_accounted_for() -> None:
    crashed = replace(RUNNING, claims=2, undoing=1)
    for status in (Status.RUNNING, Status.FAILING):
        update = writes.dead_letter(crashed, "letter", b"tail", status, NOW, counted=True)
        assert not {"claims", "undoing"} & {*update.write, *update.add}


@pytest.mark.rule("E3")
def test_a_sweep_moves_the_due_time_that_it_read() -> None:
    update = writes.sweep(RUNNING, NOW - 1, NOW)

    where = Where(status=OPEN, due=NOW - 1, revision=5, free_at=NOW, birth=EARLIER)
    assert update == Update("order-1", where, {"due": NOW + STALE, "due_shard": SHARD})


@pytest.mark.rule("E9")
def test_a_purge_is_for_one_process_at_a_time_and_for_this_life_of_the_id() -> None:
    gone = replace(RUNNING, status=Status.COMPLETED, ended=EARLIER)

    where = Where(status=TERMINAL, unpurged_at=NOW, birth=EARLIER)
    assert writes.purge(gone, NOW) == Update("order-1", where, {"purging": NOW + PURGE_TIME})


@pytest.mark.rule("E7", "E4")
def test_commands_touch_neither_lease_nor_fence_nor_claims() -> None:
    paused = replace(HELD, status=Status.PAUSED)
    given = [
        commands.cancel(HELD, "identity", NOW, rollback=True),
        commands.terminate(HELD, "identity", NOW),
        commands.pause(HELD, "identity"),
        commands.resume(paused, "identity", NOW),
        commands.send(HELD, "identity", NOW),
        commands.act(HELD, "identity", b"state", "", NOW),
        writes.sweep(HELD, HELD.due, NOW),
    ]
    assert [({"lease", "fence", "claims"} & {*update.write, *update.add}) for update in given] == [set()] * 7
