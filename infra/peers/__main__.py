"""Print steps a second of a harness over the local store and of its peers; exit status 1 when it is not ahead of one.

Each engine runs the same executions, one after the other in turns, in a process and an environment of its own. The peers run
all steps of an execution in one go, as the harness does with a budget; with one step an invocation it replays before each.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from infra.bench.report import Figure, show

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
SHAPES = ((20, 10), (5, 100))  # executions, and steps of each: as tests are, and longer ones
RUNS = 3  # of which the best counts: the machine is shared, and noise only adds


@dataclass(frozen=True, slots=True)
class Engine:
    """A program, the Python that runs it, and what it needs besides."""

    name: str
    program: str
    environment: str = ""  # the peer's own; empty: this one
    arguments: tuple[str, ...] = ()
    tool: str = ""  # a command that has to be installed

    @property
    def missing(self) -> str:
        """Why it can't be measured; empty when it can."""
        if self.tool and shutil.which(self.tool) is None:
            return f"the command `{self.tool}` is not installed"
        return "" if self.python.exists() else f"{self.environment} is not there: make bench-peers makes it"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return ROOT / self.environment / "bin" / "python" if self.environment else Path(sys.executable)

    def rate(self, executions: int, steps: int) -> float:
        """Return steps a second."""
        done = subprocess.run(
            [self.python, PROGRAMS / f"{self.program}.py", str(executions), str(steps), *self.arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return executions * steps / float(done.stdout)


OURS = (
    Engine("harness over the local store, one step an invocation", "harness", arguments=("1",)),
    Engine("harness over the local store, 100 steps an invocation", "harness", arguments=("100",)),
)
PEERS = (
    Engine("AWS's durable execution testing runner", "aws_testing", ".venv-peer-aws"),
    Engine("DBOS on SQLite", "dbos_sqlite", ".venv-peer-dbos"),
    Engine("Temporal's development server", "temporal_server", ".venv-peer-temporal", tool="temporal"),
)
WITHOUT_PROGRAM = ("Restate",)


def main() -> int:
    """Measure and print."""
    engines = [*OURS, *(peer for peer in PEERS if not peer.missing)]
    kept = True
    for executions, steps in SHAPES:
        rates = dict.fromkeys(engines, 0.0)
        for _ in range(RUNS):
            for engine in engines:
                rates[engine] = max(rates[engine], engine.rate(executions, steps))
        figures = [Figure(f"{engine.name}: steps a second", rate) for engine, rate in rates.items()]
        figures += [
            Figure(f"{ours.name} / {peer.name}", rates[ours] / rates[peer], "x", 1, at_least=True)
            for ours in OURS
            for peer in engines[len(OURS) :]
        ]
        show(f"{executions} executions of {steps} steps", figures)
        kept = kept and all(figure.kept for figure in figures)
    for peer in PEERS:
        if peer.missing:
            print(f"\nnot measured: {peer.name}, for {peer.missing}")
    for name in WITHOUT_PROGRAM:
        print(f"\nnot measured: {name}, for which there is no program here")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
