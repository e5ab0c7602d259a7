"""`make demo`: transfers between banks while workers are killed, the timeline of two of them, and the audit."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import durable
from infra.demo.audit import Outcome, audit
from infra.demo.deployment import Deployment, environment
from infra.demo.kills import Point, plan
from infra.demo.ledger import Books, Ledger
from infra.demo.processes import Processes, ProcessFailed
from infra.demo.progress import progress
from infra.demo.report import Survived, lines
from infra.demo.scenario import Scenario
from infra.demo.supervisor import Transfers, Workers, see_through
from infra.demo.timeline import telling, timeline, title


def main(arguments: Sequence[str]) -> int:
    """0 only when the audit holds."""
    options = _options(arguments)
    scenario = Scenario.load(options.transfers)
    points = plan(scenario, options.kills, options.seed)
    began = time.monotonic()
    print(f"{len(scenario.transfers)} transfers, {options.workers} workers, {options.kills} kills, seed {options.seed}")
    signal.signal(signal.SIGTERM, _end)  # as Ctrl-C does: what was started is ended first
    with TemporaryDirectory(prefix="durable-demo-") as name, Processes(Path(name)) as processes:
        try:
            holds = _carry_out(scenario, points, options, Path(name), processes)
        except ProcessFailed as failure:
            print(failure, file=sys.stderr)
            holds = False
    print(f"\n{'The audit holds' if holds else 'THE AUDIT DOES NOT HOLD'}, after {time.monotonic() - began:.0f} s")
    return 0 if holds else 1


def _carry_out(
    scenario: Scenario, points: Sequence[Point], options: argparse.Namespace, directory: Path, processes: Processes
) -> bool:
    (directory / "kills").mkdir()
    processes.start("banks", "infra.demo.bank", str(directory / "ledger.sqlite"))
    processes.start("aws", "infra.demo.aws")
    banks, aws = processes.wait_until_ready("banks", "aws")
    os.environ.update(environment(aws, banks))
    deployment = Deployment.create()
    deployment.save(directory / "deployment.json")

    processes.start("trigger", "infra.demo.trigger", str(directory))
    names = [f"worker-{number}" for number in range(1, options.workers + 1)]
    what = (len(scenario.transfers), options.kills, options.seed)
    workers = Workers(processes, names, [str(directory), *map(str, what)])
    transfers = Transfers(deployment, scenario.transfers)
    with progress() as show:
        see_through(workers, transfers, len(scenario.transfers), show)
    return _report(scenario, points, workers, deployment, _books(directory / "ledger.sqlite"))


def _report(
    scenario: Scenario, points: Sequence[Point], workers: Workers, deployment: Deployment, books: Books
) -> bool:
    client = durable.connect(table=deployment.table, queue=deployment.queues["ContinuationQueue"].url)
    executions = [client.get(transfer.id) for transfer in scenario.transfers]
    outcomes = {each.id: Outcome(each.status, each.rollback.outcome) for each in executions}
    rolled_back = [each for each in executions if outcomes[each.id].rolled_back]
    undone = sum(entry.kind == "rollback" for each in rolled_back for entry in each.history)
    survived = Survived(points, workers.deaths, workers.accidents, workers.redeliveries, undone)

    for told in ([each for each in executions if outcomes[each.id].completed], rolled_back):
        if told:
            _tell(telling(told, workers.deaths), scenario, workers)
    checks = [*audit(scenario.transfers, outcomes, books), *survived.checks()]
    print("", *lines(checks, outcomes, survived, books), sep="\n")
    return not any(check.faults for check in checks)


def _tell(execution: durable.Execution[Any, Any], scenario: Scenario, workers: Workers) -> None:
    transfer = next(each for each in scenario.transfers if each.id == execution.id)
    print("", *timeline(execution, title(scenario, transfer), workers.deaths), sep="\n")


def _books(path: Path) -> Books:
    ledger = Ledger(path)
    try:
        return ledger.books()
    finally:
        ledger.close()


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.demo", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the plan of kills")
    parser.add_argument("--transfers", type=int, default=200, help="how many of the 200 in transfers.json")
    parser.add_argument("--workers", type=int, default=3, help="processes that run the handlers")
    parser.add_argument("--kills", type=int, default=24, help="SIGKILLs of workers")
    return parser.parse_args(arguments)


def _end(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
