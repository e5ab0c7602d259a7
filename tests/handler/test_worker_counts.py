"""What the worker counts, it writes once, when its invocation ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from durable.aws.metrics import MetricsObserver
from durable.functions import wiring, worker
from durable.testing.harness import Harness
from tests.handler.conftest import Batch
from tests.handler.test_worker import ORDER, continuation
from tests.handler.workflows import checkout


class Counting(Harness):
    """With an observer that writes metrics."""

    def _observer(self) -> MetricsObserver:
        return MetricsObserver("Durable", "shop")


@pytest.fixture
def durable() -> Iterator[Counting]:
    with Counting(workflows=[checkout]) as harness:
        yield harness


def test_what_was_counted_is_written_once_at_the_end_of_the_invocation(
    durable: Counting, batch: Batch, context: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    durable.start(checkout, ORDER, execution_id="order-1")
    wiring.install(durable.application)
    for revision in range(3):  # the last replays both steps and parks
        worker.handler(batch("continuation", continuation(revision=revision)), context)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    counted = [line for line in lines if "_aws" in line]
    assert [line.get("StepsCompleted") for line in counted] == [[1.0], [1.0]]
    assert counted[0]["ExecutionsStarted"] == [1.0]
    assert {line["workflow"] for line in counted} == {"checkout"}
