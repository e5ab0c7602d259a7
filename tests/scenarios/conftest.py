"""What scenarios share."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from durable.testing import Harness
from tests.emulators import ENDPOINT
from tests.ministack import MiniStack


@pytest.fixture(autouse=True)
def on_each_store(store: str) -> None:
    """Every scenario runs on every store."""


@pytest.fixture(scope="package", autouse=True)
def emulator() -> Iterator[None]:
    """With DURABLE_TEST_ENDPOINT, every harness's AWS is the MiniStack there."""
    if not ENDPOINT:
        yield
        return
    with patch.object(Harness, "emulator", MiniStack(ENDPOINT)):
        yield


@pytest.fixture
def no_sweeper(durable: Harness) -> None:
    """Every sweeper dies: what happens, happens without it. It may make good only what a client or AWS has lost."""
    durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000_000)
