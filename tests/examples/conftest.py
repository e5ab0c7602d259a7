"""What the examples' tests share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def on_each_store(store: str) -> None:
    """Every example runs on every store."""
