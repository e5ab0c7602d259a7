"""A scenario: a small workflow, the misfortunes that may befall it, and the rule that is broken on purpose."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from tests.model.state import Operation


class Mutant(StrEnum):
    """A rule broken on purpose. `test_mutants.py` shows that the checker finds each of them."""

    MESSAGE_WITHOUT_IDENTITY = "rule 1: a claim does not record which message it came from"
    LEASE_NOT_CHECKED = "rule 2: a claim does not ask whether the lease is over"
    OWN_CLAIM_NOT_RECOGNISED = "rule 2: a refused claim is not recognised by its nonce"
    OWN_CLAIM_TURNS = "rule 2: a forward claim that is recognised late, under cancelling, rolls back at once"
    BUSY_DELETED = "rule 3: a message that meets a held lease is deleted"
    LATE_HOLDER_NOT_FENCED = "rule 3: a message whose claim was not given back sends another, without a write"
    EARLY_DELETED = "rule 3: a message that comes before wake_at is deleted"
    HELD_AND_SENT = "rule 3: a message that is held sends another one as well"
    STATUS_NOT_CHECKED = "rule 4: a checkpoint does not ask for the status"
    REVISION_NOT_CHECKED = "rule 4: a checkpoint asks for the fence alone"
    RECOGNISED_BY_FENCE = "rule 4: a refused checkpoint of this fence counts as applied, whatever its nonce"
    CANCELLED_HOLDER_SENDS_NOTHING = "rule 4: the holder that finds cancelling sends nothing"
    GIVING_BACK_FORGETS_CLAIMS = "rule 4: a lease given back before its body sets claims to zero"
    KEPT_LEASE_RESETS_CLAIMS = "rule 4: a checkpoint that keeps the lease sets claims to zero"
    PARK_IGNORES_INBOX = "rule 5: a park does not ask for the inbox that the replay saw"
    PARK_AGAIN_SENDS_TIMER_ONLY = "rule 5: a park whose wake_at has passed by the commit sends nothing"
    TIMEOUT_PASSES_LAZILY = "rule 6: the timeout of a queue is not committed before the next body"
    RESUME_KEEPS_REVISION = "rule 7: resume does not raise the revision"
    CANCEL_KEEPS_REVISION = "rule 7: cancel does not raise the revision"
    SEND_KEEPS_REVISION = "rule 7: send to an execution without a wake time does not raise the revision"
    RESUME_IS_DUE_NOW = "rule 7: resume of a parked execution is due at once"
    CANCEL_KEEPS_WAKE = "rule 7: cancel leaves the execution parked"
    SEND_READS_FIRST = "rule 7: send sends the revision that it read before its write"
    FAILING_IS_NOT_DUE = "rule 8: failing is committed without a due time"
    ROLLBACK_CLAIM_COUNTS = "rule 9: a rollback claim counts"
    FRONTIER_IGNORES_CLAIM_TIME = "rule 9: the frontier of the rollback stands at the sleep that was passed"
    SET_NOT_FIXED = "rule 9: the set of the rollback is computed anew at each claim"
    CLAIMS_ARE_CHARGED = "rule 10: a claim without a checkpoint is charged as an attempt"
    NO_START_MARK = "rule 10: a claim that finds claims above zero records no start"
    NO_ROLLBACK_MARK = "rule 10: a rollback claim that finds another without a checkpoint records no start"
    MARK_WITHOUT_BODY = "rule 10: a start mark is recorded although a verb takes the lease back before the body"
    DEAD_LETTER_FAILS_AT_ONCE = "rule 11: one dead letter fails the execution"
    DEAD_LETTER_IGNORES_LEASE = "rule 11: a dead letter does not ask whether the lease is over"
    DEAD_LETTER_WITHOUT_IDENTITY = "rule 11: the write for a dead letter does not record its message"
    UNKNOWN_VERSION_COUNTS = "rule 11: a dead letter of a version that is not deployed yet counts"
    CLAIM_REMOVES_DUE = "rule 12: a claim removes the due time until its checkpoint"


class Scenario(NamedTuple):
    """The faults are budgets: so many may happen, at any moment."""

    workflow: tuple[Operation, ...]
    steps_per_invocation: int = 1  # 1, or many (any other number)
    crashes: int = 0
    duplicates: int = 0  # of deliveries, sends and deletes
    lost_answers: int = 0  # a write is applied, its answer is not heard
    losses: int = 0  # messages that vanish
    dead_letters: int = 0  # messages that go to the dead-letter queue, whoever's fault it is
    verbs: tuple[str, ...] = ()  # each may be asked for once, at any time
    late: int = 0  # leases that end although their holder works: its clock and another's differ
    deploying: bool = False  # no process knows the version of the workflow yet
    sweeper: bool = False
    clients_die: bool = False  # crashes may strike clients too
    workers: int = 2
    most_messages: int = 6  # live continuations that so many faults can lead to at once
    broken: Mutant | None = None
