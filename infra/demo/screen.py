"""Prints lines: coloured on a terminal, as they are elsewhere."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

STYLES = {"ok": "green", "FAILED": "bold red", "SIGKILL": "yellow"}  # of lines that begin so, seconds aside


def say(*lines: str) -> None:
    console = Console()
    for line in lines:
        style = next((style for word, style in STYLES.items() if line.startswith(word) or f"s   {word}" in line), "")
        console.print(Text(line, style), soft_wrap=True)
