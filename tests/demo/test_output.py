from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from durable import ErrorInfo, HistoryEntry
from infra.demo.audit import Check, Outcome
from infra.demo.kills import Kind, Moment, Point
from infra.demo.output import verdicts
from infra.demo.progress import Tally
from infra.demo.results import Ended, moments, title
from infra.demo.scenario import Transfer
from infra.demo.supervisor import Death
from tests.demo.conftest import OPEN, OTHER, scenario

START = datetime(2030, 1, 1, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def entry(kind: Any, path: str, status: Any, ended: float, attempts: int = 1, error: str = "") -> HistoryEntry:
    told = ErrorInfo("Declined", error) if error else None
    return HistoryEntry(path, kind, status, attempts, None, told, START, after(ended))


def death(transfer: str, at: float, kind: Kind = Kind.BODY) -> Death:
    return Death("worker-2", Point(kind, transfer, "credit", Moment.AFTER), after(at).timestamp())


def test_a_timeline_has_what_was_recorded_and_where_a_worker_died() -> None:
    history = [
        entry("step", "debit", "completed", 0.5),
        entry("step", "credit", "failed", 8.25, attempts=2, error="closed"),
        entry("rollback", "credit", "completed", 9),
        entry("rollback", "debit", "completed", 10),
    ]
    assert moments(START, history, [death("T1", 1.75)]) == [
        "    0.50 s   debit        completed",
        "    1.75 s   SIGKILL      worker-2 dies in a body, after credit",
        "    8.25 s   credit       failed, attempt 2: Declined: closed",
        "    9.00 s   undo credit  completed",
        "   10.00 s   undo debit   completed",
    ]


def test_the_title_says_who_pays_whom_and_what_for() -> None:
    transfers = scenario(OPEN, OTHER, transfers=(Transfer("T1", OPEN.number, OTHER.number, 1250, "Rent"),))
    assert title(transfers, "T1") == "T1: 12.50 from Ada (NORD) to Bao (ATLA), Rent"


def test_the_transfers_that_are_told_are_those_with_most_to_tell() -> None:
    done, undone = Outcome("completed", "none"), Outcome("failed", "completed")
    ended = Ended({"T1": done, "T2": done, "T3": undone, "T4": undone}, {"T3": 1, "T4": 3})
    assert ended.telling([death("T2", 1)]) == ["T2", "T4"]
    assert ended.telling([death("T3", 1)]) == ["T1", "T3"]
    assert ended.undone == 4
    assert Ended({}, {}).telling([]) == []


def test_a_check_that_fails_is_told_with_its_faults_and_not_with_hundreds_of_them() -> None:
    checks = [Check("all is well", ()), Check("all is paid", tuple(f"T{number} is not" for number in range(12)))]
    told = verdicts(checks)
    assert told[:3] == ["ok      all is well", "FAILED  all is paid", "        T0 is not"]
    assert told[-1] == "        ... and 2 more"
    assert len(told) == 13


def test_the_progress_is_one_line() -> None:
    tally = Tally(total=200, completed=93, rolled_back=25, open=24, kills=11, redeliveries=14)
    assert str(tally) == "completed  93  rolled back 25  open 24  killed 11  redelivered 14"
