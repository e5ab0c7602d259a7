"""What is stored in the emulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from durable.testing.aws.units import item_size
from durable.testing.stored import Item

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeDefinitionTypeDef, KeySchemaElementTypeDef
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True)
class AwsStored:
    """Implements `durable.testing.stored.Stored`."""

    dynamodb: DynamoDBClient
    s3: S3Client
    table: str
    bucket: str
    unrecorded: Callable[[], AbstractContextManager[None]]

    def items(self, execution_id: str) -> Mapping[str, int]:
        """The sort keys of an execution's items, and how many bytes each item has."""
        with self.unrecorded():
            pages = self.dynamodb.get_paginator("query").paginate(
                TableName=self.table,
                KeyConditionExpression="pk = :id",
                ExpressionAttributeValues={":id": {"S": execution_id}},
            )
            return {item["sk"]["S"]: item_size(item) for page in pages for item in page["Items"]}

    def objects(self, execution_id: str) -> Sequence[str]:
        """The keys of an execution's objects in the bucket."""
        with self.unrecorded():
            found = self.s3.list_objects_v2(Bucket=self.bucket, Prefix=f"{execution_id}/").get("Contents", [])
        return [each["Key"] for each in found]


@dataclass(frozen=True, slots=True)
class AwsTables:
    """Implements `durable.testing.stored.Tables`."""

    dynamodb: DynamoDBClient
    unrecorded: Callable[[], AbstractContextManager[None]]

    def create(self, name: str, *keys: str) -> None:
        """Make a table with a partition key and, if two keys are given, a sort key; both are strings."""
        schema: list[KeySchemaElementTypeDef] = [{"AttributeName": keys[0], "KeyType": "HASH"}]
        schema += [{"AttributeName": key, "KeyType": "RANGE"} for key in keys[1:]]
        definitions: list[AttributeDefinitionTypeDef] = [{"AttributeName": key, "AttributeType": "S"} for key in keys]
        with self.unrecorded():
            self.dynamodb.create_table(
                TableName=name, KeySchema=schema, AttributeDefinitions=definitions, BillingMode="PAY_PER_REQUEST"
            )

    def get(self, name: str, key: Item) -> Item | None:
        """The item of this key, or None."""
        with self.unrecorded():
            return self.dynamodb.get_item(TableName=name, Key=dict(key)).get("Item")

    def items(self, name: str) -> Sequence[Item]:
        """Every item of the table, in no order."""
        with self.unrecorded():
            pages = self.dynamodb.get_paginator("scan").paginate(TableName=name)
            return [item for page in pages for item in page["Items"]]

    def put(self, name: str, item: Item) -> None:
        """Write an item."""
        with self.unrecorded():
            self.dynamodb.put_item(TableName=name, Item=dict(item))
