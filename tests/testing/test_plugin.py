"""The fixture that the plugin gives, and what it costs a run that does not use it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from durable.testing import Harness
from tests.testing.conftest import TEMPLATE

shop = pytest.mark.durable(template=TEMPLATE)


@pytest.fixture
def durable_workflows() -> list[Any]:
    return ["checkout"]


@shop
def test_the_fixture_is_a_harness_over_the_workflows_of_the_test(durable: Harness) -> None:
    assert durable.application.workflows == ["checkout"]
    assert durable.application.environment["DURABLE_STEPS"] == "1"


@pytest.mark.durable(template=TEMPLATE, workflows=["refund"], steps_per_invocation=20)
def test_a_marker_changes_the_harness_of_one_test(durable: Harness) -> None:
    assert durable.application.workflows == ["refund"]
    assert durable.application.environment["DURABLE_STEPS"] == "20"


@pytest.mark.parametrize("module", ["durable.testing", "durable.testing.plugin"])
def test_a_run_that_needs_no_harness_loads_no_aws_package(module: str) -> None:
    code = f"import sys, {module}; print([name for name in sys.modules if name in ('boto3', 'botocore', 'moto')])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
