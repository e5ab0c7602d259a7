"""What all tests share."""

from __future__ import annotations

import pytest

from tests.emulators import ENDPOINT


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the tests that only one emulator can take, those of the other are not run."""
    away = "moto_only" if ENDPOINT else "ministack_only"
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker(away)])
    items[:] = [item for item in items if not item.get_closest_marker(away)]
