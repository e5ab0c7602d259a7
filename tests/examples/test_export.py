"""A report that is looked for every five minutes, until it is there, or for too long."""

from __future__ import annotations

import pytest

from durable.testing import Harness
from durable.testing.clock import START
from handler.workflows.export import Warehouse, export


@pytest.fixture
def warehouse(monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    warehouse = Warehouse()
    monkeypatch.setattr("handler.workflows.export.warehouse", warehouse)
    return warehouse


@pytest.mark.rule("J7")
@pytest.mark.parametrize("looks", [0, 1, 23])
def test_it_is_published_as_soon_as_it_is_there(durable: Harness, warehouse: Warehouse, looks: int) -> None:
    warehouse.looks_left = looks
    execution = durable.start(export, "2029-12")
    durable.run()

    assert execution.output == "https://reports.example/2029-12 has 1000 rows"
    assert (durable.clock.moment - START).total_seconds() == looks * 300
    assert durable.faults.bodies.count("request") == 1


@pytest.mark.rule("J7", "R1")
def test_what_is_never_ready_is_discarded(durable: Harness, warehouse: Warehouse) -> None:
    warehouse.looks_left = 10_000
    execution = durable.start(export, "2029-12")
    durable.run()

    assert (execution.status, execution.rollback.outcome, warehouse.jobs) == ("failed", "completed", {})
    assert str(execution.error) == "WaitTimedOut: 'ready' was not there within 2:00:00"
    assert (durable.clock.moment - START).total_seconds() == 2 * 3600


def test_an_empty_report_is_discarded_too(durable: Harness, warehouse: Warehouse) -> None:
    warehouse.rows = 0
    execution = durable.start(export, "2029-12")
    durable.run()

    assert (str(execution.error), warehouse.jobs) == ("TerminalError: https://reports.example/2029-12 is empty", {})
