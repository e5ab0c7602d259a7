"""A call that a function's role does not allow does not pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest

from durable.testing.aws.permissions import NotPermitted
from durable.testing.harness import Harness
from tests.testing.shop import wiring

KEY = {"pk": {"S": "a"}, "sk": {"S": "head"}}
ITEM = {"TableName": "durable-Table", "Item": KEY}


def query(index: str | None) -> None:
    settings = {"IndexName": index} if index else {}
    name = "due_shard" if index else "pk"
    wiring.application().dynamodb.query(
        TableName="durable-Table",
        KeyConditionExpression=f"{name} = :key",
        ExpressionAttributeValues={":key": {"S": "0"}},
        **settings,
    )


ALLOWED: dict[str, Callable[[], object]] = {
    "PutItem": lambda: wiring.application().dynamodb.put_item(**ITEM),
    "TransactWriteItems": lambda: wiring.application().dynamodb.transact_write_items(TransactItems=[{"Put": ITEM}]),
    "Query of an index": lambda: query("due"),
    "SendMessage": lambda: wiring.application().start("b"),
    "SendMessageBatch": lambda: wiring.application().sqs.send_message_batch(
        QueueUrl=wiring.application().environment["QUEUE"], Entries=[{"Id": "1", "MessageBody": "b"}]
    ),
}
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "GetItem": (
        lambda: wiring.application().dynamodb.get_item(TableName="durable-Table", Key=KEY),
        "dynamodb:GetItem on arn:aws:dynamodb:us-east-1:123456789012:table/durable-Table,",
    ),
    "a check in a transaction": (
        lambda: wiring.application().dynamodb.transact_write_items(
            TransactItems=[
                {"Put": ITEM},
                {
                    "ConditionCheck": {
                        "TableName": "durable-Table",
                        "Key": {**KEY, "sk": {"S": "other"}},
                        "ConditionExpression": "attribute_not_exists(pk)",
                    }
                },
            ]
        ),
        "dynamodb:ConditionCheckItem",
    ),
    "BatchWriteItem": (
        lambda: wiring.application().dynamodb.batch_write_item(
            RequestItems={"durable-Table": [{"DeleteRequest": {"Key": KEY}}]}
        ),
        "dynamodb:BatchWriteItem",
    ),
    "Query of the table": (lambda: query(None), "dynamodb:Query on arn:aws:dynamodb:us-east-1:123456789012:table/"),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_the_role_allows_passes(shop: Harness, behave: dict[str, Any], name: str) -> None:
    behave["Worker"] = lambda event, context: ALLOWED[name]()

    invocation = shop.invoke("Worker", {})

    assert (invocation.failed, len(shop.calls)) == (False, 1)


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_role_does_not_allow_is_told_to_the_test(shop: Harness, behave: dict[str, Any], name: str) -> None:
    call, message = REFUSED[name]
    behave["Worker"] = lambda event, context: call()

    with pytest.raises(NotPermitted, match=f"the function Worker called {message}"):
        shop.invoke("Worker", {})

    assert shop.calls == []


def test_a_function_whose_role_is_elsewhere_is_not_checked(shop: Harness, behave: dict[str, Any]) -> None:
    behave["Sweeper"] = lambda event, context: wiring.application().dynamodb.get_item(
        TableName="durable-Table", Key=KEY
    )

    assert shop.sweep().failed is False
    assert shop.permissions.granted("Sweeper") is None


def test_what_was_used_of_a_role_is_known(shop: Harness, behave: dict[str, Any]) -> None:
    behave["Worker"] = lambda event, context: ALLOWED["TransactWriteItems"]()

    shop.invoke("Worker", {})

    assert shop.permissions.used == {
        "Worker": {("dynamodb:PutItem", "arn:aws:dynamodb:us-east-1:123456789012:table/durable-Table")}
    }


@pytest.mark.parametrize(
    ("function", "call", "needed"),
    [
        (
            "Start",
            lambda: boto3.client("scheduler").delete_schedule(Name="one", GroupName="durable"),
            "scheduler:DeleteSchedule on arn:aws:scheduler:us-east-1:123456789012:schedule/durable/one",
        ),
        (
            "Worker",
            lambda: boto3.client("scheduler").delete_schedule(Name="one", GroupName="other"),
            "scheduler:DeleteSchedule on arn:aws:scheduler:us-east-1:123456789012:schedule/other/one",
        ),
        (
            "Sweeper",
            lambda: boto3.client("events").put_events(
                Entries=[{"EventBusName": "durable", "Source": "a", "DetailType": "b", "Detail": "{}"}]
            ),
            "events:PutEvents on arn:aws:events:us-east-1:123456789012:event-bus/durable",
        ),
        (
            "TerminalFailure",
            lambda: boto3.client("s3").get_object(Bucket="durable-payloadbucket", Key="order-1/a b"),
            "s3:GetObject on arn:aws:s3:::durable-payloadbucket/order-1/a%20b",
        ),
        (
            "Start",
            lambda: boto3.client("s3").list_objects_v2(Bucket="somebody-elses"),
            "s3:ListBucket on arn:aws:s3:::somebody-elses",
        ),
        (
            "DeadLetters",
            lambda: boto3.client("s3").delete_objects(
                Bucket="durable-payloadbucket", Delete={"Objects": [{"Key": "a"}]}
            ),
            "s3:DeleteObject on arn:aws:s3:::durable-payloadbucket/",
        ),
        (
            "Worker",
            lambda: boto3.client("scheduler").create_schedule(
                Name="one",
                GroupName="durable",
                ScheduleExpression="rate(1 day)",
                FlexibleTimeWindow={"Mode": "OFF"},
                Target={"Arn": "arn:queue", "RoleArn": "arn:aws:iam::123456789012:role/admin"},
            ),
            "iam:PassRole on arn:aws:iam::123456789012:role/admin",
        ),
    ],
)
def test_a_call_to_any_service_that_the_role_does_not_allow_does_not_pass(
    monkeypatch: pytest.MonkeyPatch, function: str, call: Callable[[], object], needed: str
) -> None:
    with Harness(workflows=[], transport="sqs") as durable:
        monkeypatch.setattr(durable.stack.functions[function].handler, lambda event, context: call())
        with pytest.raises(NotPermitted, match=f"the function {function} called {needed}"):
            durable.invoke(function, {})


def test_a_schedule_fires_only_with_a_role_that_may_send_to_its_queue() -> None:
    def schedule(queue: str, moment: str) -> None:
        boto3.client("scheduler").create_schedule(
            Name=queue,
            GroupName="durable",
            ScheduleExpression=f"at({moment})",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": durable.stack.queues[queue].arn, "RoleArn": durable.stack.names["ScheduleRole.Arn"]},
        )

    with Harness(workflows=[], transport="sqs") as durable:
        schedule("ContinuationQueue", "2030-01-01T01:00:00")
        schedule("StartQueue", "2030-01-01T02:00:00")
        with pytest.raises(NotPermitted, match="durable-ScheduleRole of the template does not allow sqs:SendMessage"):
            durable.run(duration=7200)

        assert durable.sent[0].queue == "ContinuationQueue"
