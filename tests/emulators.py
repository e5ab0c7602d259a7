"""Which AWS the tests of the adapters and the scenarios have: moto, or the MiniStack at DURABLE_TEST_ENDPOINT."""

from __future__ import annotations

import os

import pytest

ENDPOINT = os.environ.get("DURABLE_TEST_ENDPOINT", "")  # `infra.local.beside_ministack` sets it

moto_only = pytest.mark.moto_only  # MiniStack differs, see docs/testing.md
ministack_only = pytest.mark.ministack_only  # moto differs, see docs/testing.md
