"""`pytest --durable-cold`: what a test recorded is replayed in fresh processes, under other values of PYTHONHASHSEED.

A fresh process has none of what the test's own keeps: values in modules, caches, the order of its sets. It runs the test
again, so that the workflows are there wherever they are defined, and replays at the end of each run what the first process
had recorded by the end of the same run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from durable.testing.determinism.recording import Recording
from durable.testing.determinism.verification import Runs, Verification

SEEDS = ("1", "2")
REPLAY = "--durable-cold-replay"  # what a fresh process is called with: the file of the recordings


class Repeats:
    """The plugin of the first process."""

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        """Repeat a test that has passed, if it has run executions."""
        Verification.runs = runs = Runs()
        try:
            result = yield
        finally:
            Verification.runs = None
        if any(runs.recorded):
            with TemporaryDirectory() as folder:
                file = Path(folder) / "recordings.json"
                file.write_bytes(msgspec.json.encode(runs.recorded))
                for seed, process in [(seed, _started(pyfuncitem, file, seed)) for seed in SEEDS]:
                    _finish(process, seed)
        return result


class Replays:
    """The plugin of a fresh process."""

    def __init__(self, file: Path) -> None:
        recorded: Sequence[Sequence[Recording]] = msgspec.json.decode(file.read_bytes(), type=list[list[Recording]])
        Verification.runs = Runs(recorded)


def _started(item: pytest.Function, file: Path, seed: str) -> subprocess.Popen[str]:
    config = item.config
    where = [f"--rootdir={config.rootpath}", *([f"--config-file={config.inipath}"] if config.inipath else [])]
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *where, f"{REPLAY}={file}", item.nodeid],
        cwd=config.rootpath,
        env={**_environment(), "PYTHONHASHSEED": seed},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _finish(process: subprocess.Popen[str], seed: str) -> None:
    output, _ = process.communicate()
    if process.returncode != 0:
        pytest.fail(f"in a fresh process, with PYTHONHASHSEED={seed}:\n{output}", pytrace=False)


def _environment() -> dict[str, str]:
    """The environment, without what pytest and its plugins tell their own processes."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_CORE_"))}
