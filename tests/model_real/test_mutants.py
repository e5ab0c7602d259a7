"""The explorer sees what a broken rule does: each mutant of the real code is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from durable.protocol import writes
from durable.protocol.updates import Update
from tests.model_real.cases import RETRIES, SAGA, WAITS, Case
from tests.model_real.search import explore


def without(name: str) -> Callable[[Update], Update]:
    """The update without one of its conditions."""
    return lambda update: replace(update, where=replace(update.where, **{name: None}))


def not_counted(update: Update) -> Update:
    """A claim that is not counted."""
    return replace(update, add={"fence": 1})


def not_raised(update: Update) -> Update:
    """A checkpoint of no revision of its own."""
    return replace(update, write={name: value for name, value in update.write.items() if name != "revision"})


MUTANTS: dict[str, tuple[str, Callable[[Update], Update], Case, str]] = {
    "a claim while the lease is held": ("claim", without("free_at"), SAGA.but(duplicates=1), "begins while"),
    "claims that are not counted": (
        "claim",
        not_counted,
        SAGA.but(faults=1, commands=("cancel",), preemptions=0),
        "began",
    ),
    "a park whatever has come": ("checkpoint", without("inbox"), WAITS, "a message waits"),
    "a checkpoint of no revision": ("checkpoint", not_raised, RETRIES.but(faults=1), ""),
    "an end whatever the status": ("terminate", without("status"), SAGA.but(commands=("terminate",)), "was written"),
}


@pytest.mark.parametrize(("function", "mutation", "case", "found"), MUTANTS.values(), ids=MUTANTS.keys())
def test_each_mutant_is_found(
    function: str,
    mutation: Callable[[Update], Update],
    case: Case,
    found: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = getattr(writes, function)

    def mutant(*arguments: Any, **named: Any) -> Update:
        return mutation(original(*arguments, **named))

    monkeypatch.setattr(writes, function, mutant)
    report = explore(case, 5_000)

    assert report.failure, str(report)
    assert found in report.failure
