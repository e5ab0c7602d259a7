"""What scenarios share."""

from __future__ import annotations

import pytest

from durable.testing import Harness


@pytest.fixture(autouse=True)
def on_each_store(store: str) -> None:
    """Every scenario runs on every store."""


@pytest.fixture
def no_sweeper(durable: Harness) -> None:
    """Every sweeper dies: what happens, happens without it. It may make good only what a client or AWS has lost."""
    durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000_000)
