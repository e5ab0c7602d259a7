"""A harness over the small deployment of `tests/testing/shop`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from durable.testing.harness import Harness
from tests.stores import VARIABLE
from tests.testing.shop import functions

TEMPLATE = Path(__file__).parent / "shop" / "template.yaml"


@pytest.fixture(autouse=True)
def on_moto(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about the harness over an emulated AWS."""
    monkeypatch.setenv(VARIABLE, "moto")


@pytest.fixture
def behave() -> Iterator[dict[str, Callable[[Any, Any], Any]]]:
    """What each function does; nothing, until the test says so."""
    quiet = dict.fromkeys(("Worker", "TerminalFailure", "DeadLetters", "Sweeper"), lambda event, context: None)
    functions.behave.update(quiet)
    yield functions.behave
    functions.behave.clear()


@pytest.fixture
def shop(behave: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The harness; `indirect` parameters override the template's."""
    with Harness(workflows=[], template=TEMPLATE, parameters=getattr(request, "param", None)) as harness:
        yield harness
