"""A table of figures, each beside its bar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: what, how much, and the bar that it is to keep, if there is one."""

    what: str
    value: float
    unit: str = ""
    bar: float | None = None
    at_least: bool = False  # the bar is the least, and not the most

    @property
    def kept(self) -> bool:
        """Whether the bar is kept."""
        if self.bar is None:
            return True
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def cells(self) -> tuple[str, str, str]:
        """What, how much, bar."""
        limit = "at least" if self.at_least else "at most"
        bar = "" if self.bar is None else f"{limit} {_number(self.bar)}{'' if self.kept else '  NOT KEPT'}"
        return self.what, f"{_number(self.value)} {self.unit}".strip(), bar


def show(title: str, figures: Iterable[Figure]) -> None:
    """Print a table."""
    rows: Sequence[tuple[str, str, str]] = [figure.cells() for figure in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    print(f"\n{title}")
    for what, value, bar in rows:
        print(f"  {what:<{widths[0]}}  {value:>{widths[1]}}  {bar}".rstrip())


def _number(value: float) -> str:
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
