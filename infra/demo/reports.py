"""What a process of the demo tells the one that started it: a line of JSON each, whatever it prints besides."""

from __future__ import annotations

import json
import os
import sys
from threading import Thread
from typing import Any, Self


class Reports:
    """The sending end. What was sent before a SIGKILL arrives."""

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
