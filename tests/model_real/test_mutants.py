"""The explorer sees what a broken rule does: each mutant of the real code is found."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from durable.protocol import commands, writes
from durable.protocol.updates import Update
from tests.model_real.cases import SAGA, Case
from tests.model_real.search import explore

Mutation = Callable[[Any], Any]


def without(*names: str) -> Mutation:
    """The update without some of its conditions."""
    return lambda update: replace(update, where=replace(update.where, **dict.fromkeys(names)))


def not_counted(update: Update) -> Update:
    """A claim that is not counted."""
    return replace(update, add={"fence": 1})


MUTANTS: dict[str, tuple[ModuleType, str, Mutation, Case, str]] = {
    "a claim while the lease is held": (writes, "claim", without("free_at"), SAGA.but(duplicates=1), "begins while"),
    "claims that are not counted": (
        writes,
        "claim",
        not_counted,
        SAGA.but(faults=1, commands=("cancel",), preemptions=0),
        "began",
    ),
    "a stale checkpoint": (
        writes,
        "checkpoint",
        without("fence", "revision", "status"),
        SAGA.but(commands=("terminate",)),
        "was written",
    ),
    "an end whatever the status": (
        commands,
        "_command",
        without("status"),
        SAGA.but(commands=("terminate",), preemptions=2),
        "was written",
    ),
    "a claim after the end": (
        writes,
        "claim",
        without("status", "revision"),
        SAGA.but(duplicates=1, commands=("terminate",)),
        "was written",
    ),
}


@pytest.mark.parametrize(("module", "function", "mutation", "case", "found"), MUTANTS.values(), ids=MUTANTS.keys())
def test_each_mutant_is_found(
    module: ModuleType, function: str, mutation: Mutation, case: Case, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(module, function)

    def mutant(*arguments: Any, **named: Any) -> Any:
        return mutation(original(*arguments, **named))

    monkeypatch.setattr(module, function, mutant)
    report = explore(case, 8_000)

    assert report.failure, str(report)
    assert found in report.failure, str(report)
