"""The stream event source: filter, order, retries, bisects, checkpoints."""

from __future__ import annotations

from typing import Any

import pytest

from durable.testing.harness import Harness


def put(shop: Harness, name: str, status: str = "failing", **attributes: Any) -> None:
    item = {"pk": {"S": name}, "sk": {"S": "head"}, "status": {"S": status}, **attributes}
    shop.application.dynamodb.put_item(TableName=shop.stack.tables["Table"].name, Item=item)


def keys(event: Any) -> str:
    return "".join(record["dynamodb"]["Keys"]["pk"]["S"] for record in event["Records"])


def test_a_record_has_the_shape_that_lambda_sends(shop: Harness, behave: dict[str, Any]) -> None:
    events: list[Any] = []
    behave["TerminalFailure"] = lambda event, context: events.append(event)
    put(shop, "a", "running")
    put(shop, "a", "failing", tail={"B": b"\x00\x01"})

    shop.run()

    ((record,),) = [event["Records"] for event in events]
    assert isinstance(record.pop("eventID"), str)
    assert isinstance(record["dynamodb"].pop("SequenceNumber"), str)
    assert isinstance(record["dynamodb"].pop("SizeBytes"), int)
    head = {"pk": {"S": "a"}, "sk": {"S": "head"}}
    assert record == {
        "eventName": "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": shop.clock.now() / 1000,
            "Keys": head,
            "NewImage": {**head, "status": {"S": "failing"}, "tail": {"B": "AAE="}},
            "OldImage": {**head, "status": {"S": "running"}},
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "eventSourceARN": shop.stack.tables["Table"].stream,
    }


def test_records_that_do_not_fit_the_filter_invoke_nothing(shop: Harness) -> None:
    put(shop, "a", "running")
    put(shop, "b", "completed")

    shop.run()

    assert shop.invocations == []


def test_a_write_that_changes_nothing_leaves_no_record(shop: Harness, behave: dict[str, Any]) -> None:
    seen: list[str] = []
    behave["TerminalFailure"] = lambda event, context: seen.append(keys(event))
    put(shop, "a")
    put(shop, "a")

    shop.run()

    assert seen == ["a"]


def test_records_come_in_order_and_in_batches(shop: Harness, behave: dict[str, Any]) -> None:
    seen: list[str] = []
    behave["TerminalFailure"] = lambda event, context: seen.append(keys(event))
    for name in "abcdef":
        put(shop, name)

    shop.run()
    put(shop, "g")
    shop.run()

    assert seen == ["abcd", "ef", "g"]


def test_the_first_record_that_was_reported_is_where_it_goes_on(shop: Harness, behave: dict[str, Any]) -> None:
    seen: list[str] = []

    def relay(event: Any, context: Any) -> Any:
        seen.append(keys(event))
        if len(seen) > 1:
            return None
        numbers = [record["dynamodb"]["SequenceNumber"] for record in event["Records"]]
        return {"batchItemFailures": [{"itemIdentifier": numbers[3]}, {"itemIdentifier": numbers[1]}]}

    behave["TerminalFailure"] = relay
    for name in "abcde":
        put(shop, name)

    shop.run()

    assert seen == ["abcd", "bcd", "e"]


def test_a_batch_is_given_up_after_its_retries(shop: Harness, behave: dict[str, Any]) -> None:
    seen: list[str] = []

    def relay(event: Any, context: Any) -> None:
        seen.append(keys(event))
        if "a" in keys(event):
            raise ValueError("boom")

    behave["TerminalFailure"] = relay
    put(shop, "a")
    shop.run()
    put(shop, "b")
    shop.run()

    assert seen == ["a", "a", "a", "b"]


@pytest.mark.parametrize("shop", [{"Bisect": "true"}], indirect=True)
def test_a_bisected_batch_isolates_the_bad_record(shop: Harness, behave: dict[str, Any]) -> None:
    seen: list[str] = []

    def relay(event: Any, context: Any) -> None:
        seen.append(keys(event))
        if "c" in keys(event):
            raise ValueError("boom")

    behave["TerminalFailure"] = relay
    for name in "abcd":
        put(shop, name)

    shop.run()

    assert seen == ["abcd", "ab", "cd", "c", "c", "c", "d"]


def test_a_refused_transaction_leaves_no_record_and_the_reader_where_it_was(
    shop: Harness, behave: dict[str, Any]
) -> None:
    events: list[Any] = []
    behave["TerminalFailure"] = lambda event, context: events.append(event)
    put(shop, "a")
    shop.run()
    table = shop.stack.tables["Table"].name
    written = {"pk": {"S": "b"}, "sk": {"S": "head"}, "status": {"S": "failing"}}
    missing = {"pk": {"S": "nobody"}, "sk": {"S": "head"}}

    with pytest.raises(shop.application.dynamodb.exceptions.TransactionCanceledException):
        shop.application.dynamodb.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": table, "Item": written}},
                {"ConditionCheck": {"TableName": table, "Key": missing, "ConditionExpression": "attribute_exists(pk)"}},
            ]
        )
    put(shop, "c")
    shop.run()

    assert [keys(event) for event in events] == ["a", "c"]
