"""The sweeper's function."""

from __future__ import annotations

import pytest

from durable.testing.harness import Harness
from tests.handler.workflows import ping


@pytest.mark.rule("E3")
def test_an_execution_whose_message_was_lost_is_brought_back(durable: Harness) -> None:
    durable.faults.before(1, durable.faults.swallow, operation=durable.sending, by="client")
    execution = durable.start(ping, execution_id="order-1")
    durable.run(duration=60)
    assert execution.status == "pending"
    durable.clock.advance(600)
    assert durable.sweep().answer == {"swept": 1}
    durable.run()
    assert execution.status == "completed"


@pytest.mark.rule("E9")
def test_an_expired_execution_is_deleted_with_all_its_items(durable: Harness) -> None:
    durable.start(ping, execution_id="order-1")
    durable.run()
    durable.clock.advance(31 * 86_400)
    assert durable.sweep().answer == {"swept": 1}
    assert durable.stored.items("order-1") == {}
