"""The processes that the demo starts: none outlives it, whatever ends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Self

READY_WITHIN = 30.0  # seconds


@dataclass(frozen=True, slots=True)
class Report:
    """What a process told; `kind` is `ready`, `ended` or its own."""

    process: str
    kind: str
    value: Any


class ProcessFailed(Exception):
    """A process ended that should not have; the message has the end of what it wrote."""


class Processes:
    """Starts modules as processes, hands on their reports, and ends them all at the end."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._listeners: list[Thread] = []
        self._reports: SimpleQueue[Report] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._running.values():
            process.kill()
        for listener in self._listeners:
            listener.join()

    def start(self, name: str, module: str, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        """Start `python -m module`; what it prints goes to a file of its name."""
        with self._log(name).open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,  # never written to: it closes with us, and the process ends with it
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment,
                start_new_session=True,  # Ctrl-C is ours alone
            )
        self._running[name] = process
        listener = Thread(target=self._listen, args=(name, process), daemon=True)
        self._listeners.append(listener)
        listener.start()

    def wait_until_ready(self, *names: str) -> list[str]:
        """Wait until processes that serve do so; their URLs."""
        urls: dict[str, str] = {}
        while waiting := [name for name in names if name not in urls]:
            try:
                report = self._reports.get(timeout=READY_WITHIN)
            except Empty:
                raise ProcessFailed(f"not ready after {READY_WITHIN:.0f} s: {', '.join(waiting)}") from None
            if report.kind != "ready":
                raise ProcessFailed(f"{report.process} did not start:\n{self.last_words(report.process)}")
            urls[report.process] = report.value
        return [urls[name] for name in names]

    def reports(self, wait: float) -> list[Report]:
        """What was told since the last call; waits for the first of it."""
        told: list[Report] = []
        try:
            told.append(self._reports.get(timeout=wait))
            while True:
                told.append(self._reports.get_nowait())
        except Empty:
            return told

    def last_words(self, name: str, lines: int = 15) -> str:
        """The end of what a process wrote."""
        return "\n".join(self._log(name).read_text(errors="replace").splitlines()[-lines:])

    def _log(self, name: str) -> Path:
        return self._directory / f"{name}.log"

    def _listen(self, name: str, process: subprocess.Popen[str]) -> None:
        with process:
            for line in process.stdout or ():
                kind, value = json.loads(line)
                self._reports.put(Report(name, kind, value))
        self._reports.put(Report(name, "ended", process.returncode))


class Reports:
    """The sending end of a process's reports: a line of JSON each. What was sent before a SIGKILL arrives."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def open(cls) -> Self:
        """Keep stdout for reports, send what is printed to stderr, and end when the one that listens does."""
        reports = cls(os.dup(sys.stdout.fileno()))
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        Thread(target=_end_with_parent, daemon=True).start()
        return reports

    def ready(self, url: str = "") -> None:
        self.send("ready", url)

    def send(self, kind: str, value: Any = None) -> None:
        os.write(self._descriptor, json.dumps([kind, value]).encode() + b"\n")


def _end_with_parent() -> None:
    while os.read(
        sys.stdin.fileno(), 64
    ):  # nothing is ever sent; the end comes when the parent's end of the pipe closes
        pass
    os._exit(0)
