"""The pytest plugin: `durable` is a Harness over `durable_workflows`, entered for one test."""

from __future__ import annotations

from collections.abc import Iterator
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


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.addinivalue_line("markers", "durable(**settings): settings of the Harness of this test's `durable` fixture")
