"""The local store, and a harness over it, need no AWS package."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = (
    "boto3",
    "botocore.config",
    "botocore.client",
    "pynamodb",
    "moto",
)  # Powertools loads `botocore` alone, for a version

HARNESS = """
import sys
from durable import Context, workflow
from durable.testing import Harness

@workflow
def order(ctx: Context) -> int:
    return ctx.step("one", lambda step: 1)

with Harness(workflows=[order], store="local") as durable:
    execution = durable.start(order)
    durable.run()
    assert execution.output == 1
"""
STORE = "import durable.local.store, durable.local.queue, durable.local.blobs, durable.local.publisher, sys\n"


@pytest.mark.parametrize("program", [STORE, HARNESS], ids=["the ports", "a harness"])
def test_no_aws_package_is_loaded(program: str) -> None:
    shown = f"print([name for name in {HEAVY!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program + shown], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(("variable", "loaded"), [("", False), ("AWS_LAMBDA_RUNTIME_API", True)])
def test_a_function_loads_them_while_it_starts_on_lambda_and_nowhere_else(variable: str, loaded: bool) -> None:
    program = (
        "import os, sys\nimport durable.functions.worker\nprint('boto3' in sys.modules, 'pynamodb' in sys.modules)"
    )
    environment = {**os.environ, **({variable: "127.0.0.1:9001"} if variable else {})}
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert found.stdout.split() == [str(loaded), str(loaded)]
