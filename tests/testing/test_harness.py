"""The harness: virtual time, what counts as due, what a function sees."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from durable.errors import ConfigurationError, InvalidCall
from durable.testing.harness import Harness
from durable.testing.runner import EndlessRun
from tests.testing.conftest import TEMPLATE
from tests.testing.shop import wiring


def put_head(shop: Harness, name: str, status: str, due: int | None) -> None:
    item: dict[str, Any] = {"pk": {"S": name}, "sk": {"S": "head"}, "status": {"S": status}}
    if due is not None:
        item |= {"due": {"N": str(due)}, "due_shard": {"S": "0"}}
    wiring.application().dynamodb.put_item(TableName=shop.stack.tables["Table"].name, Item=item)


@pytest.fixture
def opened(shop: Harness) -> Harness:
    wiring.install(shop.application)
    return shop


def test_time_stands_still_and_jumps_to_what_is_due(shop: Harness, behave: dict[str, Any]) -> None:
    moments: list[tuple[datetime, float]] = []
    behave["Worker"] = lambda event, context: moments.append((datetime.now(UTC), time.time()))
    shop.application.start("now")
    shop.application.start("later", delay=900)

    shop.run()

    start = datetime(2030, 1, 1, tzinfo=UTC)
    later = start + timedelta(minutes=15)
    assert moments == [(start, start.timestamp()), (later, later.timestamp())]
    assert shop.clock.moment == later


def test_a_run_for_a_duration_ends_exactly_then(shop: Harness) -> None:
    shop.application.start("later", delay=900)

    shop.run(duration=timedelta(minutes=10))
    assert (len(shop.invocations), shop.clock.moment) == (0, datetime(2030, 1, 1, 0, 10, tzinfo=UTC))

    shop.run(duration=300)
    assert (len(shop.invocations), shop.clock.moment) == (1, datetime(2030, 1, 1, 0, 15, tzinfo=UTC))


def test_a_test_chooses_its_first_moment(behave: dict[str, Any]) -> None:
    start = datetime(2024, 2, 29, 12, tzinfo=UTC)

    with Harness(workflows=[], template=TEMPLATE, start=start) as shop:
        assert (shop.clock.moment, datetime.now(UTC)) == (start, start)

    assert datetime.now(UTC) > start + timedelta(days=365)


def test_waiting_in_place_takes_no_time(shop: Harness) -> None:
    before = time.perf_counter()

    shop.clock.sleep(3600)

    assert shop.clock.moment == datetime(2030, 1, 1, 1, tzinfo=UTC)
    assert time.perf_counter() - before < 60


def test_a_clock_does_not_go_back(shop: Harness) -> None:
    with pytest.raises(InvalidCall, match="does not go back"):
        shop.clock.advance(-1)


def test_the_context_has_the_true_shape(shop: Harness, behave: dict[str, Any]) -> None:
    contexts: list[Any] = []
    behave["Worker"] = lambda event, context: contexts.append(context)
    shop.application.start("a")

    shop.run()

    (context,) = contexts
    assert context.get_remaining_time_in_millis() == 30_000
    assert len(context.aws_request_id) == 36
    shown = {
        name: getattr(context, name)
        for name in ("function_name", "function_version", "invoked_function_arn", "memory_limit_in_mb")
    }
    assert shown == {
        "function_name": "durable-Worker",
        "function_version": "$LATEST",
        "invoked_function_arn": "arn:aws:lambda:us-east-1:123456789012:function:durable-Worker",
        "memory_limit_in_mb": "256",
    }
    assert context.log_group_name == "/aws/lambda/durable-Worker"
    assert context.log_stream_name == "2030/01/01/[$LATEST]" + "0" * 32
    assert (context.identity, context.client_context) == (None, None)


def test_a_function_finds_its_environment_and_leaves_none_behind(shop: Harness, behave: dict[str, Any]) -> None:
    seen: dict[str, str] = {}
    behave["Worker"] = lambda event, context: seen.update(os.environ)
    shop.application.start("a")

    shop.run()

    assert {name: seen[name] for name in ("TABLE", "QUEUE", "AWS_REGION", "AWS_LAMBDA_FUNCTION_NAME")} == {
        "TABLE": "durable-Table",
        "QUEUE": shop.stack.queues["ContinuationQueue"].url,
        "AWS_REGION": "us-east-1",
        "AWS_LAMBDA_FUNCTION_NAME": "durable-Worker",
    }
    assert (seen["DURABLE_DRIFT"], seen["DURABLE_STEPS"]) == ("error", "1")
    assert "TABLE" not in os.environ


def test_an_execution_that_is_due_is_swept_at_the_next_tick(opened: Harness, behave: dict[str, Any]) -> None:
    swept: list[Any] = []

    def sweeper(event: Any, context: Any) -> None:
        swept.append(event)
        put_head(opened, "lost", "completed", None)

    behave["Sweeper"] = sweeper
    put_head(opened, "lost", "waiting", opened.clock.now() + 420_000)

    opened.run()

    (event,) = swept
    assert isinstance(event.pop("id"), str)
    assert event == {
        "version": "0",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "123456789012",
        "time": "2030-01-01T00:10:00Z",  # the first tick after it was due, 7 minutes in
        "region": "us-east-1",
        "resources": ["arn:aws:events:us-east-1:123456789012:rule/SweeperSweep"],
        "detail": {},
    }


@pytest.mark.parametrize("status", ["completed", "terminated", "paused", "diverged"])
def test_a_purge_time_keeps_no_run_going(opened: Harness, status: str) -> None:
    put_head(opened, "ended", status, opened.clock.now() + 420_000)

    opened.run()

    assert opened.clock.moment == datetime(2030, 1, 1, tzinfo=UTC)


def test_a_purge_time_is_kept_when_the_clock_passes_it(opened: Harness) -> None:
    put_head(opened, "ended", "completed", opened.clock.now() + 420_000)

    opened.run(duration=600)

    assert [invocation.function for invocation in opened.invocations] == ["Sweeper"]


def test_the_sweeper_runs_on_demand(shop: Harness) -> None:
    assert shop.sweep().function == "Sweeper"


def test_a_run_that_never_ends_is_told(shop: Harness, behave: dict[str, Any]) -> None:
    behave["Worker"] = lambda event, context: wiring.application().start("again")
    shop.limit = 50
    shop.application.start("a")

    with pytest.raises(EndlessRun, match="50 invocations"):
        shop.run()


def test_any_function_can_be_invoked(shop: Harness, behave: dict[str, Any]) -> None:
    behave["Worker"] = lambda event, context: {"got": event}

    assert shop.invoke("Worker", {"a": 1}).answer == {"got": {"a": 1}}


def test_a_transport_that_the_template_does_not_offer_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no parameter Transport"):
        Harness(workflows=[], template=TEMPLATE, transport="eventbridge")


def test_a_harness_that_is_not_entered_says_so() -> None:
    with pytest.raises(ConfigurationError, match="with Harness"):
        Harness(workflows=[], template=TEMPLATE).get("a")


def test_a_queue_that_nobody_polls_can_not_be_taken_from(shop: Harness) -> None:
    with pytest.raises(InvalidCall, match="they poll ContinuationQueue, DeadLetterQueue"):
        shop.take("Elsewhere")
