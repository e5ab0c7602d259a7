from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from infra.demo.processes import Processes


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Processes(tmp_path_factory.mktemp("aws")) as processes:
        processes.start("aws", "infra.demo.aws")
        yield processes.wait_until_ready("aws")[0]


def client(service: Any, url: str) -> Any:
    return boto3.client(
        service, endpoint_url=url, region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s"
    )


def test_transactions_from_many_connections_lose_no_write(url: str) -> None:
    dynamodb = client("dynamodb", url)
    key: dict[str, Any] = {"AttributeName": "pk"}
    dynamodb.create_table(
        TableName="t",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[key | {"KeyType": "HASH"}],
        AttributeDefinitions=[key | {"AttributeType": "S"}],
    )

    def add() -> None:
        own = client("dynamodb", url)
        update = {
            "TableName": "t",
            "Key": {"pk": {"S": "counter"}},
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        for _ in range(20):
            own.transact_write_items(TransactItems=[{"Update": update}])

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert dynamodb.get_item(TableName="t", Key={"pk": {"S": "counter"}})["Item"]["n"] == {"N": "80"}


def test_a_body_that_is_announced_is_asked_for(url: str) -> None:
    s3 = client("s3", url)
    s3.create_bucket(Bucket="payments")
    s3.put_object(Bucket="payments", Key="k", Body=b"value" * 1000)
    assert s3.get_object(Bucket="payments", Key="k")["Body"].read() == b"value" * 1000


def test_one_who_goes_away_in_the_middle_of_a_request_hinders_nobody(url: str) -> None:
    address = url.removeprefix("http://").split(":")
    with socket.create_connection((address[0], int(address[1]))) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\ncontent-length: 100\r\n\r\nhalf")
    assert client("sqs", url).list_queues()["ResponseMetadata"]["HTTPStatusCode"] == 200
