"""`--durable-cold`: the runs of a test are repeated in fresh processes, under two values of PYTHONHASHSEED."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAD = """
from __future__ import annotations
from typing import Any
from durable import Context, Step, workflow

kept: dict[str, Any] = {}

def note(step: Step, *arguments: Any) -> str:
    return "noted"
"""
TEST = """
def test_it(durable) -> None:
    execution = durable.start(order)
    durable.run()
    assert execution.status == "completed"
"""
MARKED = """
import pytest

@pytest.fixture
def durable_workflows():
    return [order]
"""

VARYING = {
    "the order of a set": """
@workflow
def order(ctx: Context) -> None:
    for name in {"ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"}:
        ctx.step(name, note)
""",
    "a set among the arguments, as a list": """
@workflow
def order(ctx: Context) -> None:
    ctx.step("a", note, list({"ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"}))
""",
    "the hash of a text": """
@workflow
def order(ctx: Context) -> None:
    ctx.step("a", note, hash("ada"))
""",
    "what a module keeps": """
import uuid
@workflow
def order(ctx: Context) -> None:
    ctx.step("a", note, kept.setdefault("instance", str(uuid.uuid4())))
""",
    "what is made at the import": """
import uuid
INSTANCE = str(uuid.uuid4())
@workflow
def order(ctx: Context) -> None:
    ctx.step("a", note, INSTANCE)
""",
    "the number of the process": """
import os
@workflow
def order(ctx: Context) -> None:
    ctx.step("a", note, kept.setdefault("process", os.getpid()))
""",
}
STABLE = """
@workflow
def order(ctx: Context) -> None:
    for name in sorted({"ada", "bob", "cyd"}):
        ctx.step(name, note, {"x", "y", "z"}, {"b": 1, "a": 2}, ctx.uuid(), ctx.now(), ctx.random().random())
    ctx.sleep("pause", 60)
    ctx.step("large", lambda step: "x" * 400_000)
    ctx.step("b", note)
"""
LOCAL = """
from durable.testing import Harness

def test_it() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("a", note, hash("ada"))

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()
"""


def pytest_on(folder: Path, code: str, *options: str) -> tuple[int, str]:
    (folder / "test_it.py").write_text(HEAD + code)
    template = (ROOT / "template.yaml").read_text()
    (folder / "template.yaml").write_text(template)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -q -p no:cacheprovider\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.rule("D6")
@pytest.mark.parametrize("code", VARYING.values(), ids=VARYING)
def test_what_differs_between_processes_fails_the_test(tmp_path: Path, code: str) -> None:
    status, output = pytest_on(tmp_path, code + MARKED + TEST, "--durable-cold")

    assert status == 1, output
    assert "in a fresh process, with PYTHONHASHSEED=" in output
    assert "workflow 'order' is not deterministic" in output


def test_what_is_the_same_in_every_process_passes(tmp_path: Path) -> None:
    status, output = pytest_on(tmp_path, STABLE + MARKED + TEST, "--durable-cold")

    assert (status, "1 passed" in output) == (0, True), output


def test_a_workflow_that_is_defined_in_its_test_is_replayed_too(tmp_path: Path) -> None:
    status, output = pytest_on(tmp_path, LOCAL, "--durable-cold")

    assert (status, "is not deterministic" in output) == (1, True), output


def test_without_the_option_a_test_runs_once_in_its_own_process(tmp_path: Path) -> None:
    status, output = pytest_on(tmp_path, LOCAL)

    assert status == 0, output
