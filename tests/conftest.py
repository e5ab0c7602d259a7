"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from tests.emulators import ENDPOINT
from tests.stores import STORES, VARIABLE, left_out


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Behind every harness of the test is this store: the test runs once for each."""
    monkeypatch.setenv(VARIABLE, request.param)
    return str(request.param)


@pytest.fixture(scope="session", autouse=True)
def emulator() -> Iterator[None]:
    """With DURABLE_TEST_ENDPOINT, every harness's AWS is the MiniStack there."""
    if not ENDPOINT:
        yield
        return
    from durable.testing import Harness
    from tests.ministack import MiniStack

    with patch.object(Harness, "emulator", MiniStack(ENDPOINT)):
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the tests that only one emulator can take, those of the other are not run; nor are more cases than it has time for."""
    away = "moto_only" if ENDPOINT else "ministack_only"
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker(away)])
    items[:] = [item for item in items if not item.get_closest_marker(away)]
    out = left_out(items)
    config.hook.pytest_deselected(items=list(out))
    items[:] = [item for item in items if item not in out]
