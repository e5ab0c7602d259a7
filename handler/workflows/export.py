"""A report that takes a while: ask for it, look every five minutes until it is ready, and cost nothing in between."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from durable import Context, Step, TerminalError, Undo, workflow


@dataclass(frozen=True)
class Report:
    """Where a report is, and how long."""

    url: str
    rows: int


@workflow
def export(ctx: Context, month: str) -> str:
    job = ctx.step("request", request, month, rollback=discard)
    report = ctx.wait_for("ready", look, job, every=timedelta(minutes=5), timeout=timedelta(hours=2))
    return ctx.step("publish", publish, report)


def request(step: Step, month: str) -> str:
    return warehouse.request(month, key=step.idempotency_key)


def discard(undo: Undo[str], month: str) -> None:
    warehouse.discard(undo.forward_idempotency_key)


def look(step: Step, job: str) -> Report | None:
    return warehouse.find(job)


def publish(step: Step, report: Report) -> str:
    if not report.rows:
        raise TerminalError(f"{report.url} is empty")
    return f"{report.url} has {report.rows} rows"


class Warehouse:
    """Stands in for a slow service: a job for each key, and a report when it has been looked for often enough."""

    def __init__(self) -> None:
        self.jobs: dict[str, str] = {}
        self.looks_left = 0
        self.rows = 1_000

    def request(self, month: str, *, key: str) -> str:
        """The job that makes the report."""
        return self.jobs.setdefault(key, month)

    def find(self, job: str) -> Report | None:
        """The report, once it is ready."""
        self.looks_left -= 1
        return Report(f"https://reports.example/{job}", self.rows) if self.looks_left < 0 else None

    def discard(self, key: str) -> None:
        """Forget a job, if there is one."""
        self.jobs.pop(key, None)


warehouse = Warehouse()
