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
from typing import NoReturn

import durable
from infra.demo.audit import audit
from infra.demo.deployment import Deployment, environment
from infra.demo.kills import Point, plan
from infra.demo.ledger import Books, Ledger
from infra.demo.output import figures, kill_checks, say, verdicts
from infra.demo.processes import Processes, ProcessFailed
from infra.demo.progress import progress
from infra.demo.results import Ended, timeline, title
from infra.demo.scenario import Scenario
from infra.demo.supervisor import Transfers, Workers, see_through

LEDGER = "ledger.sqlite"


def main(arguments: Sequence[str]) -> int:
    """0 only when the audit holds."""
    options, scenario, points = _options(arguments)
    began = time.monotonic()
    say(f"{len(scenario.transfers)} transfers, {options.workers} workers, {options.kills} kills, seed {options.seed}")
    signal.signal(signal.SIGTERM, _end)  # as Ctrl-C does: what was started is ended first
    with TemporaryDirectory(prefix="durable-demo-") as name, Processes(Path(name)) as processes:
        try:
            holds = _carry_out(scenario, points, options, Path(name), processes)
        except ProcessFailed as failure:
            say(f"FAILED  {failure}")
            holds = False
    say(
        "",
        f"{'The audit holds' if holds else 'FAILED: the audit does not hold'}, after {time.monotonic() - began:.0f} s",
    )
    return 0 if holds else 1


def _carry_out(
    scenario: Scenario, points: Sequence[Point], options: argparse.Namespace, directory: Path, processes: Processes
) -> bool:
    deployment = _deploy(directory, processes)
    names = [f"worker-{number}" for number in range(1, options.workers + 1)]
    what = (len(scenario.transfers), options.kills, options.seed)
    workers = Workers(processes, names, [str(directory), *map(str, what)])
    transfers = Transfers(deployment, scenario.transfers)
    with progress() as show:
        see_through(workers, transfers, len(scenario.transfers), show)

    client = durable.connect(table=deployment.table, queue=deployment.queues["ContinuationQueue"].url)
    ended = Ended.read(client, transfers.statuses)
    for chosen in ended.telling(workers.deaths):
        say("", title(scenario, chosen), *timeline(client.get(chosen), workers.deaths))
    books = _books(directory / LEDGER)
    checks = [*audit(scenario.transfers, ended.outcomes, books), *kill_checks(points, workers)]
    say("", *verdicts(checks), "", *figures(ended, workers, books))
    return not any(check.faults for check in checks)


def _deploy(directory: Path, processes: Processes) -> Deployment:
    """Start the banks, AWS and the event sources, and make the stack."""
    (directory / "kills").mkdir()
    processes.start("banks", "infra.demo.bank", str(directory / LEDGER))
    processes.start("aws", "infra.demo.aws")
    banks, aws = processes.wait_until_ready("banks", "aws")
    os.environ.update(environment(aws, banks))
    deployment = Deployment.create()
    deployment.save(directory / "deployment.json")
    processes.start("trigger", "infra.demo.trigger", str(directory))
    return deployment


def _books(path: Path) -> Books:
    ledger = Ledger(path)
    try:
        return ledger.books()
    finally:
        ledger.close()


def _options(arguments: Sequence[str]) -> tuple[argparse.Namespace, Scenario, list[Point]]:
    """What was asked for, the transfers, and the plan of kills; ends when that can't be."""
    parser = argparse.ArgumentParser(prog="python -m infra.demo", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the plan of kills")
    parser.add_argument("--transfers", type=int, default=200, help="how many of the 200 in transfers.json")
    parser.add_argument("--workers", type=int, default=3, help="processes that run the handlers")
    parser.add_argument("--kills", type=int, default=24, help="SIGKILLs of workers")
    options = parser.parse_args(arguments)
    scenario = Scenario.load(max(0, options.transfers))
    if options.workers < 1 or not scenario.transfers:
        parser.error("at least one worker and one transfer are needed")
    try:
        return options, scenario, plan(scenario, options.kills, options.seed)
    except ValueError as error:
        parser.error(str(error))


def _end(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
