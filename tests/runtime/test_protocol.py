"""The writes of the writes, each as a whole: what it demands of the head and what it leaves (rules 2, 4, 7, 11, 12)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from durable.engine.entries import FOREVER
from durable.protocol import writes
from durable.protocol.continuation import continuation_of
from durable.protocol.head import AT_REST, ENDING, FORWARD, TERMINAL, Status, shard
from durable.protocol.updates import Update, Where
from durable.protocol.writes import RETENTION, STALE, Plan, settled_status
from tests.runtime.heads import LATER, NOW, RUNNING, head

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
def test_a_claim(phase: str, statuses: frozenset[Status], write: dict[str, Any], add: dict[str, int]) -> None:
    update = writes.claim(continuation_of(RUNNING), phase, "message", "nonce", NOW, LATER)

    where = Where(status=statuses, revision=5, free_at=NOW, unparked_at=NOW)
    taken = {"lease": LATER, "message": "message", "nonce": "nonce"}
    assert update == Update("order-1", where, taken | write, add)


def plan(status: Status, **options: Any) -> Plan:
    return Plan(status=status, **({"keep": False, "tail": b"tail", "segment": "", "segments": 0} | options))


RECORDED = {"revision": 6, "nonce": "nonce", "dead": 0, "seen": 0, "tail": b"tail", "segment": "", "segments": 0}
KNOWN = Where(status=frozenset({Status.RUNNING}), revision=5, fence=3)


@pytest.mark.rule("E4")
@pytest.mark.parametrize(
    ("wanted", "where", "write"),
    [
        (
            plan(Status.RUNNING, keep=True),
            KNOWN,
            {"status": Status.RUNNING, "resume_to": "", "wake": 0, "claims": 1},
        ),
        (
            plan(Status.RUNNING),
            KNOWN,
            {"status": Status.RUNNING, "resume_to": "", "wake": 0, "lease": 0, "claims": 0},
        ),
        (
            plan(Status.WAITING, wake=LATER, inbox=2),
            replace(KNOWN, inbox=2),
            {"status": Status.WAITING, "resume_to": "", "wake": LATER, "lease": 0, "claims": 0, "seen": 2}
            | {"due": LATER, "due_shard": SHARD},
        ),
        (
            plan(Status.WAITING, wake=FOREVER, inbox=2),
            replace(KNOWN, inbox=2),
            {"status": Status.WAITING, "resume_to": "", "wake": FOREVER, "lease": 0, "claims": 0, "seen": 2}
            | {"due": 0, "due_shard": ""},
        ),
        (
            plan(Status.FAILING),
            KNOWN,
            {"status": Status.FAILING, "resume_to": "", "wake": 0, "lease": 0, "claims": 0}
            | {"due": NOW, "due_shard": SHARD},
        ),
        (
            plan(Status.COMPLETED),
            KNOWN,
            {"status": Status.COMPLETED, "resume_to": "", "wake": 0, "lease": 0, "claims": 0}
            | {"due": NOW + RETENTION, "due_shard": SHARD, "ended": NOW, "list_key": f"checkout#closed#{SHARD}"},
        ),
        (
            plan(Status.DIVERGED),
            KNOWN,
            {"status": Status.DIVERGED, "resume_to": Status.RUNNING, "wake": 0, "lease": 0, "claims": 0}
            | {"due": 0, "due_shard": ""},
        ),
    ],
)
def test_a_checkpoint(wanted: Plan, where: Where, write: dict[str, Any]) -> None:
    assert writes.checkpoint(HELD, wanted, "nonce", NOW) == Update("order-1", where, RECORDED | write)


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
def test_the_verb_that_came_in_stands(standing: Status, wanted: Status, becomes: tuple[str, str]) -> None:
    assert settled_status(head(status=standing), wanted) == becomes


@pytest.mark.rule("R4")
@pytest.mark.parametrize(
    ("standing", "wanted", "claims"),
    [
        (Status.CANCELLING, plan(Status.RUNNING, keep=True, ran=True), 0),  # the body's outcome is recorded
        (Status.CANCELLING, plan(Status.RUNNING, keep=True), 1),  # no body ran: as the claim found it
        (Status.PAUSED, plan(Status.RUNNING, keep=True), 1),
        (Status.RUNNING, plan(Status.DIVERGED), 1),
        (Status.RUNNING, plan(Status.RUNNING, keep=True), 1),
        (Status.RUNNING, plan(Status.RUNNING), 0),
    ],
)
def test_a_body_that_may_have_run_is_not_forgotten(standing: Status, wanted: Plan, claims: int) -> None:
    crashed = replace(HELD, status=standing, claims=2)
    assert writes.checkpoint(crashed, wanted, "nonce", NOW).write["claims"] == claims


@pytest.mark.rule("R4")
@pytest.mark.parametrize("wanted", [Status.ROLLING_BACK, Status.CANCELLED, Status.DIVERGED])
def test_a_rollback_leaves_the_forward_claims_as_they_are(wanted: Status) -> None:
    ending = replace(HELD, status=Status.CANCELLING)
    assert "claims" not in writes.checkpoint(ending, plan(wanted), "nonce", NOW).write


@pytest.mark.rule("R8", "S4")
@pytest.mark.parametrize(("keep", "undoing"), [(True, 1), (False, 0)])
def test_a_checkpoint_accounts_for_the_rollback_claims_before_it(keep: bool, undoing: int) -> None:
    ending = replace(HELD, status=Status.ROLLING_BACK, undoing=3)
    assert writes.checkpoint(ending, plan(Status.ROLLING_BACK, keep=keep), "nonce", NOW).write["undoing"] == undoing


@pytest.mark.rule("R12", "E3")
@pytest.mark.parametrize("status", [Status.CANCELLING, Status.ROLLING_BACK])
def test_a_commit_while_it_is_ending_leaves_the_due_time_alone(status: Status) -> None:
    ending = replace(HELD, status=status, due=NOW - 1)
    assert "due" not in writes.checkpoint(ending, plan(Status.ROLLING_BACK), "nonce", NOW).write


@pytest.mark.rule("E3")
@pytest.mark.parametrize(("left", "moves"), [(STALE, False), (120_001, False), (120_000, True), (-1, True)])
def test_the_due_time_of_a_running_execution_moves_only_when_it_comes_near(left: int, moves: bool) -> None:
    write = writes.checkpoint(replace(HELD, due=NOW + left), plan(Status.RUNNING), "nonce", NOW).write
    assert write.get("due") == (NOW + STALE if moves else None)


@pytest.mark.rule("R12", "E3")
@pytest.mark.parametrize("rollback", [True, False])
def test_a_cancel_ends_every_wait_and_is_due_at_once(rollback: bool) -> None:
    update = writes.cancel(head(wake=LATER), NOW, rollback=rollback)

    where = Where(status=FORWARD | AT_REST, revision=5)
    write = {"status": Status.CANCELLING, "resume_to": "", "revision": 6, "wake": 0, "due": NOW, "due_shard": SHARD}
    assert update == Update("order-1", where, write | {"skip_rollback": 0 if rollback else 1})


@pytest.mark.rule("E7")
def test_a_pause_takes_the_due_time_away_and_remembers_where_it_was() -> None:
    write = {"status": Status.PAUSED, "resume_to": Status.RUNNING, "due": 0, "due_shard": ""}
    assert writes.pause(HELD) == Update("order-1", Where(status=frozenset({Status.RUNNING})), write)


@pytest.mark.rule("R12", "E9")
def test_a_terminated_execution_is_due_for_its_purge() -> None:
    write = {"status": Status.TERMINATED, "resume_to": "", "due": NOW + RETENTION, "due_shard": SHARD, "ended": NOW}
    where = Where(status=frozenset(Status) - TERMINAL)
    closed = {"list_key": f"checkout#closed#{SHARD}"}
    assert writes.terminate(HELD, NOW) == Update("order-1", where, write | closed)


@pytest.mark.rule("E7", "E4")
def test_verbs_touch_neither_lease_nor_fence() -> None:
    verbs = [
        writes.cancel(HELD, NOW, rollback=True),
        writes.terminate(HELD, NOW),
        writes.pause(HELD),
        writes.resume(replace(HELD, status=Status.PAUSED), NOW),
        writes.sweep(HELD, HELD.due, NOW),
    ]
    assert [({"lease", "fence", "claims"} & {*verb.write, *verb.add}) for verb in verbs] == [set()] * 5


@pytest.mark.rule("E3", "E7", "R12")
def test_verbs_that_end_a_rest_raise_the_revision_and_the_others_do_not() -> None:
    paused = replace(HELD, status=Status.PAUSED)
    raised = {
        "cancel": writes.cancel(paused, NOW, rollback=True),
        "resume": writes.resume(paused, NOW),
    }
    kept = {"terminate": writes.terminate(HELD, NOW), "pause": writes.pause(HELD)}
    assert {name: (verb.write["revision"], verb.where.revision) for name, verb in raised.items()} == {
        "cancel": (6, 5),
        "resume": (6, 5),
    }
    assert {name: verb.write.get("revision") for name, verb in kept.items()} == {"terminate": None, "pause": None}


@pytest.mark.rule("E1")
def test_no_verb_applies_to_an_ended_execution() -> None:
    verbs = [writes.cancel(HELD, NOW, rollback=True), writes.terminate(HELD, NOW), writes.pause(HELD)]
    assert [verb.where.status is not None and verb.where.status & TERMINAL for verb in verbs] == [frozenset()] * 3


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
def test_a_resumed_execution_is_due_when_something_can_happen(paused: Any, status: Status, due: int) -> None:
    update = writes.resume(replace(paused, status=Status.PAUSED), NOW)

    where = Where(status=frozenset({Status.PAUSED}), revision=5, inbox=paused.inbox)
    shown = {"due": due, "due_shard": SHARD if due else ""}
    assert update == Update("order-1", where, {"status": status, "resume_to": "", "revision": 6} | shown)


@pytest.mark.rule("E6")
def test_a_dead_letter_takes_the_place_of_the_message_that_died() -> None:
    update = writes.bury(RUNNING, "letter", None, Status.RUNNING, NOW, counted=True)

    where = Where(status=frozenset({Status.RUNNING}), revision=5, free_at=NOW)
    assert update == Update("order-1", where, {"revision": 6, "message": "letter"}, {"dead": 1})
    assert writes.bury(RUNNING, "letter", None, Status.RUNNING, NOW, counted=False) == replace(update, add={})


@pytest.mark.rule("E3")
def test_a_sweep_moves_the_due_time_that_it_read() -> None:
    update = writes.sweep(RUNNING, NOW - 1, NOW)

    where = Where(due=NOW - 1, revision=5, free_at=NOW)
    assert update == Update("order-1", where, {"due": NOW + STALE, "due_shard": SHARD})
