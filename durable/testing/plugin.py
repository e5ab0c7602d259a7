"""The pytest plugin: `durable` is a Harness over `durable_workflows`, entered for one test."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from durable.testing.harness import Harness


@pytest.fixture
def durable_workflows() -> list[Any] | None:
    """The workflows of the `durable` fixture: override it; None is every workflow of handler/workflows/."""
    return None


@pytest.fixture
def durable(durable_workflows: list[Any] | None, request: pytest.FixtureRequest) -> Iterator[Harness]:
    """A Harness; `@pytest.mark.durable(workflows=[...], steps_per_invocation=...)` changes it for one test."""
    from durable.testing.harness import Harness  # here, not above: pytest loads this plugin in every run

    marker = request.node.get_closest_marker("durable")
    settings: dict[str, Any] = {"workflows": durable_workflows, **(marker.kwargs if marker else {})}
    with Harness(**settings) as harness:
        yield harness


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --durable-cold."""
    group = parser.getgroup("durable")
    group.addoption(
        "--durable-cold",
        action="store_true",
        help="replay what each test of a workflow has recorded in fresh processes, under two values of PYTHONHASHSEED",
    )
    group.addoption("--durable-cold-replay", type=Path, help=argparse.SUPPRESS)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and what the option needs."""
    config.addinivalue_line("markers", "durable(**settings): settings of the Harness of this test's `durable` fixture")
    recorded = config.getoption("durable_cold_replay")
    if recorded or config.getoption("durable_cold"):
        from durable.testing.determinism.cold import Repeats, Replays

        config.pluginmanager.register(Replays(recorded) if recorded else Repeats(), "durable-cold")
