"""What is seen while the demo runs: one line that changes on a terminal, a line every other second elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

EVERY = 2.0  # seconds between two lines


@dataclass(frozen=True, slots=True)
class Tally:
    """How far the demo is."""

    total: int
    completed: int
    rolled_back: int
    open: int
    kills: int
    redeliveries: int

    def __str__(self) -> str:
        return (
            f"completed {self.completed:3}  rolled back {self.rolled_back:2}  open {self.open:2}  "
            f"killed {self.kills:2}  redelivered {self.redeliveries:2}"
        )


Show = Callable[[Tally], None]


@contextmanager
def progress() -> Iterator[Show]:
    """Yields what shows a tally."""
    with _bar() if sys.stdout.isatty() else _lines() as show:
        yield show


@contextmanager
def _bar() -> Iterator[Show]:
    seconds = TimeElapsedColumn(Column(min_width=7))
    with Progress(seconds, TextColumn("{task.description}"), BarColumn(None), expand=True) as bar:
        task = bar.add_task("starting", total=None)

        def show(tally: Tally) -> None:
            ended = tally.completed + tally.rolled_back
            bar.update(task, total=tally.total, completed=ended, description=str(tally))

        yield show


@contextmanager
def _lines() -> Iterator[Show]:
    began = time.monotonic()
    shown = 0.0

    def show(tally: Tally) -> None:
        nonlocal shown
        ended = tally.completed + tally.rolled_back == tally.total
        if ended or time.monotonic() - shown >= EVERY:
            shown = time.monotonic()
            print(f"{shown - began:6.1f} s   {tally}", flush=True)

    yield show
