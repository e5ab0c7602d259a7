"""Each end of an execution is counted once, by whoever brought it about."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from durable import Context, workflow
from durable.aws.metrics import MetricsObserver
from durable.runtime.client import Client
from durable.testing import Harness


@workflow
def order(ctx: Context) -> None:
    ctx.sleep("nap", 60)


@pytest.mark.rule("R12")
def test_terminate_counts_what_it_ended_and_nothing_that_had_ended(capsys: pytest.CaptureFixture[str]) -> None:
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run(5)
        metrics = MetricsObserver("Durable", "shop")
        client = Client(replace(durable.application.ports, observer=metrics), durable.application.registry)
        capsys.readouterr()
        for _ in range(2):
            client.get(execution.id).terminate()
        metrics.flush()

    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    counted: dict[str, Any] = {name: value for name, value in line.items() if name.startswith("Execution")}
    assert counted == {"ExecutionsTerminated": [1.0], "ExecutionDuration": [5000.0]}
