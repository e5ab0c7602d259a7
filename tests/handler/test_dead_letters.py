"""Dead letters: another chance, or a rollback; what can't be read waits for a person."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from durable.testing.harness import Harness
from tests.handler.conftest import Batch
from tests.handler.test_worker import continuation
from tests.handler.workflows import Line, Order, checkout

NOTHING: dict[str, Any] = {"batchItemFailures": []}
ORDER = Order([Line("a", 1)], Decimal("12.50"))


@pytest.mark.rule("R3")
def test_a_dead_letter_gives_its_execution_another_chance(durable: Harness, recorded: Callable[[str], Any]) -> None:
    execution = durable.start(checkout, ORDER, execution_id="order-1")
    event = recorded("dead_letter")
    event["Records"][0]["body"] = continuation()
    assert durable.invoke("DeadLetters", event).answer == NOTHING
    durable.run()
    assert execution.status == "completed"


@pytest.mark.rule("E6")
def test_a_dead_letter_that_can_not_be_read_is_rejected(
    durable: Harness, batch: Batch, rejected: Callable[[], list[tuple[str, str]]]
) -> None:
    assert durable.invoke("DeadLetters", batch("dead_letter", "garbage", continuation("gone"))).answer == NOTHING
    ((body, reason),) = rejected()
    assert (body, reason.partition(":")[0]) == ("garbage", "not a continuation")


@pytest.mark.rule("D9")
def test_a_dead_letter_comes_back_when_the_table_is_out_of_reach(durable: Harness, batch: Batch) -> None:
    durable.start(checkout, ORDER, execution_id="order-1")
    durable.faults.before(1, durable.faults.refuse("AccessDeniedException"), operation="GetItem")
    event = batch("dead_letter", continuation(), continuation("gone"))
    assert durable.invoke("DeadLetters", event).answer == {"batchItemFailures": [{"itemIdentifier": "message-0"}]}


@pytest.mark.rule("E6")
def test_a_dead_letter_of_a_held_execution_is_held_in_its_own_queue(durable: Harness) -> None:
    durable.start(checkout, ORDER, execution_id="order-1")
    durable.faults.in_body(1, durable.faults.die)
    durable.deliver_once()  # dies with the lease
    (message,) = durable.messages()
    dead_letters = durable.stack.queues["DeadLetterQueue"].url
    durable.put_message(message.body, "DeadLetterQueue")
    durable.deliver_once()
    holds = [call for call in durable.calls if call.operation == "ChangeMessageVisibility"]
    assert [call.parameters["QueueUrl"] for call in holds] == [dead_letters]
    assert [call.error for call in holds] == [None]
