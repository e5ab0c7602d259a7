"""Functions whose behaviour a test gives: `behave["Worker"] = ...`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Behaviour = Callable[[Any, Any], Any]

behave: dict[str, Behaviour] = {}


def worker(event: Any, context: Any) -> Any:
    return behave["Worker"](event, context)


def terminal_failure(event: Any, context: Any) -> Any:
    return behave["TerminalFailure"](event, context)


def dead_letters(event: Any, context: Any) -> Any:
    return behave["DeadLetters"](event, context)


def sweeper(event: Any, context: Any) -> Any:
    return behave["Sweeper"](event, context)
