"""What is built, and what the tests wait with. `make test-deploy` builds it and runs these tests; `make test` does not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import boto3
import pytest

from durable import Client, Execution, ExecutionNotFound
from infra.local.artefact import Artefact

T = TypeVar("T")

ENDED = frozenset({"completed", "failed", "cancelled", "terminated", "diverged"})

HERE = Path(__file__).parent
WORKFLOWS = HERE / "workflows" / "misfortune.py"
EVENTS = HERE.parent / "events"
PATIENCE = 480.0  # seconds: a minute's work, on a machine that may have much else to do


@pytest.fixture(scope="module", autouse=True)
def own_session() -> Iterator[None]:
    """boto3's session keeps the credentials that it found first, and each deployment has others."""
    boto3.DEFAULT_SESSION = None
    yield
    boto3.DEFAULT_SESSION = None


@pytest.fixture(scope="session")
def built() -> Artefact:
    return Artefact.built()


@pytest.fixture(scope="module")
def artefact(built: Artefact, tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """What is built, with the workflows of these tests."""
    return built.copy(tmp_path_factory.mktemp("artefact") / "build", [WORKFLOWS])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """For logs and traces; what failed is found there."""
    yield tmp_path_factory.mktemp("deployment")


def eventually(look: Callable[[], T | None], what: str, within: float = PATIENCE) -> T:
    """What `look` finds at last: neither None nor False."""
    end = time.monotonic() + within
    while True:
        found = look()
        if found is not None and found is not False:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {within:.0f} s")
        time.sleep(0.5)


def finished(client: Client, execution_id: str) -> Execution[Any, Any] | None:
    """The execution, if it is there and has ended."""
    try:
        execution = client.get(execution_id)
    except ExecutionNotFound:
        return None
    return execution if execution.status in ENDED else None


def recorded(name: str) -> Any:
    """An event as AWS sends it."""
    return json.loads((EVENTS / f"{name}.json").read_text())


def done(traces: Path, execution_id: str) -> list[str]:
    """What the bodies of an execution did, in order."""
    file = traces / f"{execution_id}.done"
    return file.read_text().splitlines() if file.exists() else []
