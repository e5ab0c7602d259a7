"""A message that has to wait is held: until its time, and never longer than a queue can."""

from __future__ import annotations

import pytest

from durable import Context, workflow
from durable.functions.events.parsing import delivery
from durable.protocol.continuation import continuation_of
from durable.protocol.delivery import Verdict
from durable.testing import Harness
from tests.scenarios import table

HOUR = 3_600
MOST = 12 * HOUR  # seconds, counted from when a message was received


@workflow
def sleeper(ctx: Context, seconds: float) -> None:
    ctx.sleep("nap", seconds)


def held(durable: Harness, execution_id: str, received: int) -> float:
    """For how many seconds a continuation of the execution is held that was received then."""
    head = table.head(durable, execution_id)
    with durable.unrecorded():
        durable.application.queue.send(continuation_of(head))
    batch = durable.take()
    assert batch is not None
    (record,) = batch.records
    before = len(durable.calls)
    assert durable.application.executor.advance(delivery(record, received), lambda: 60.0) is Verdict.RETURN
    (call,) = [call for call in durable.calls[before:] if call.operation == "ChangeMessageVisibility"]
    return float(call.parameters["VisibilityTimeout"])


@pytest.mark.rule("Q4", "E3")
@pytest.mark.parametrize("ago", [0, 60, HOUR, 11 * HOUR])
@pytest.mark.parametrize("hours", [1, 11, 12, 13, 24 * 400])
def test_a_message_is_held_until_its_time_and_no_longer_than_twelve_hours_from_its_receipt(
    hours: int, ago: int
) -> None:
    with Harness(workflows=[sleeper]) as durable:
        execution = durable.start(sleeper, hours * HOUR)
        durable.deliver_once()
        seconds = held(durable, execution.id, durable.clock.now() - ago * 1_000)

        assert 0 < seconds <= min(hours * HOUR, MOST - ago)
        assert seconds >= min(hours * HOUR, MOST - ago) - 60
