"""Apply every mutant, or those that are named, and run the tests that must notice it: `python -m tests.mutants [name ...]`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
PATCHES = Path(__file__).parent
COPIED = ("durable", "handler", "tests", "infra", "docs", "template.yaml", "pyproject.toml", "README.md")
CAUGHT_BY = "Caught by: "
TIMEOUT = 600  # seconds of the tests of one mutant


@dataclass(frozen=True)
class Mutant:
    """A patch: its name, what it breaks, and the tests that notice."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def tests(self) -> list[str]:
        """The arguments of pytest."""
        lines = self.path.read_text().splitlines()
        found = [line.removeprefix(CAUGHT_BY).split() for line in lines if line.startswith(CAUGHT_BY)]
        if not found:
            raise SystemExit(f"{self.path.name} does not say which tests notice it: '{CAUGHT_BY}tests/…'")
        return found[0]


def mutants(names: Sequence[str]) -> Iterator[Mutant]:
    """The mutants of these names; of none, all."""
    found = [Mutant(path) for path in sorted(PATCHES.glob("*.patch"))]
    if unknown := set(names) - {mutant.name for mutant in found}:
        raise SystemExit(f"there is no mutant {', '.join(sorted(unknown))}")
    return (mutant for mutant in found if not names or mutant.name in names)


def copied(directory: Path) -> None:
    """Copy the code and its tests."""
    for name in COPIED:
        source, target = ROOT / name, directory / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        else:
            shutil.copy(source, target)


def applied(mutant: Mutant, directory: Path, *, back: bool = False) -> bool:
    """Put a fault into the copy, or take it out; whether that was possible."""
    command = ["patch", "--strip=1", "--silent", "--force", f"--input={mutant.path}"]
    done = subprocess.run([*command, "--reverse"] if back else command, cwd=directory, capture_output=True, check=False)
    return done.returncode == 0


def noticed(mutant: Mutant, directory: Path) -> bool:
    """Whether a test fails, on the store that is fast where that is free to choose."""
    environment = {**os.environ, "PYTHONPATH": str(directory), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.setdefault("DURABLE_TEST_STORE", "local")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "--show-capture=no", *mutant.tests]
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    if done.returncode not in (0, 1):  # 1: tests failed; anything else: they could not run
        raise SystemExit(f"the tests of {mutant.name} could not run:\n{done.stdout}\n{done.stderr}")
    return done.returncode == 1


def judged(mutant: Mutant, directory: Path) -> str:
    """What became of a mutant."""
    if not applied(mutant, directory):
        return "DOES NOT APPLY"
    try:
        return "caught" if noticed(mutant, directory) else "SURVIVED"
    finally:
        assert applied(mutant, directory, back=True)


def main(names: Sequence[str]) -> int:
    """Judge them; 1 if one was not caught."""
    failed = 0
    with TemporaryDirectory() as temporary:
        directory = Path(temporary)
        copied(directory)
        for mutant in mutants(names):
            verdict = judged(mutant, directory)
            sys.stdout.write(f"{verdict:15} {mutant.name}\n")
            sys.stdout.flush()
            failed += verdict != "caught"
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
