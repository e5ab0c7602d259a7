"""DBOS Transact over SQLite, in a file."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from dbos import DBOS


def _work(number: int) -> str:
    return str(number) * 100


def _many(steps: int) -> str:
    for number in range(steps):
        work(number)
    return "done"


work = DBOS.step()(_work)
many = DBOS.workflow()(_many)


def run(executions: int, steps: int) -> None:
    for handle in [DBOS.start_workflow(many, steps) for _ in range(executions)]:
        assert handle.get_result() == "done"


if __name__ == "__main__":
    executions, steps = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'dbos.sqlite'}"
        DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})
        DBOS.launch()
        run(1, steps)
        started = time.perf_counter()
        run(executions, steps)
        print(time.perf_counter() - started)
        DBOS.destroy()
