"""The template's tables and queues, made at any endpoint: what is tested is what is deployed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from durable.errors import ConfigurationError
from durable.testing.definitions import FunctionDefinition, functions
from durable.testing.intrinsics import Unresolved
from durable.testing.template import FUNCTION, Resource, Template

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

TABLE = "AWS::DynamoDB::Table"
QUEUE = "AWS::SQS::Queue"

_TABLE_SETTINGS = (
    "AttributeDefinitions",
    "KeySchema",
    "BillingMode",
    "GlobalSecondaryIndexes",
    "LocalSecondaryIndexes",
)
_QUEUE_SETTINGS = (
    "DelaySeconds",
    "FifoQueue",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "RedrivePolicy",
    "SqsManagedSseEnabled",
    "VisibilityTimeout",
)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue that was made, with the settings that the pump has to know."""

    id: str
    name: str
    url: str
    arn: str
    delay: int  # seconds that every message waits
    visibility: int  # seconds
    dead_letters: str | None  # ARN of the queue to which messages go that were received too often


@dataclass(frozen=True, slots=True)
class Table:
    """A table that was made."""

    id: str
    name: str
    arn: str
    stream: str | None  # ARN
    settings: Mapping[str, Any]  # key schema, indexes: as in the template


@dataclass(frozen=True, slots=True)
class Stack:
    """What a template's deployment made, by logical id."""

    region: str
    tables: Mapping[str, Table]
    queues: Mapping[str, Queue]
    functions: Mapping[str, FunctionDefinition]
    names: Mapping[str, Any]  # `Table` and `Table.Arn`: what !Ref and !GetAtt give

    @classmethod
    def create(cls, template: Template, dynamodb: DynamoDBClient, sqs: SQSClient, *, name: str = "durable") -> Stack:
        """Makes the template's tables and queues through these clients, whatever their endpoint is."""
        region = dynamodb.meta.region_name
        deployment = _Deployment(template, name, region, dynamodb, sqs)
        deployment.make()
        defined = {definition.id: definition for definition in functions(template, deployment.names)}
        return cls(region, deployment.tables, deployment.queues, defined, deployment.names)

    def environment(self, function: str = "Worker") -> dict[str, str]:
        """What the function finds in its environment."""
        if function not in self.functions:
            raise ConfigurationError(f"the template has no function {function}; it has {', '.join(self.functions)}.")
        return dict(self.functions[function].environment)

    def queue_of(self, arn_or_url: str) -> Queue | None:
        """The queue of this ARN or URL."""
        return next((queue for queue in self.queues.values() if arn_or_url in (queue.arn, queue.url)), None)


class _Deployment:
    """Makes resources in the order in which they refer to one another."""

    def __init__(self, template: Template, name: str, region: str, dynamodb: DynamoDBClient, sqs: SQSClient) -> None:
        self._template = template
        self._name = name
        self._dynamodb = dynamodb
        self._sqs = sqs
        self.tables: dict[str, Table] = {}
        self.queues: dict[str, Queue] = {}
        self.names: dict[str, Any] = {
            "AWS::StackName": name,
            "AWS::Region": region,
            "AWS::AccountId": "123456789012",
            "AWS::Partition": "aws",
            "AWS::URLSuffix": "amazonaws.com",
        }
        for function in template.resources(FUNCTION):
            physical = f"{name}-{function.id}"
            self.names[function.id] = physical
            self.names[f"{function.id}.Arn"] = f"arn:aws:lambda:{region}:123456789012:function:{physical}"

    def make(self) -> None:
        makers: dict[str, Callable[[Resource], None]] = {TABLE: self._make_table, QUEUE: self._make_queue}
        waiting = [resource for resource in self._template.resources() if resource.type in makers]
        while waiting:
            blocked: list[Resource] = []
            for resource in waiting:
                try:
                    makers[resource.type](resource)
                except Unresolved as error:
                    blocked.append(resource)
                    reason = error
            if len(blocked) == len(waiting):  # a name that no resource will ever give
                raise reason
            waiting = blocked

    def _resolve(self, resource: Resource) -> dict[str, Any]:
        resolved: dict[str, Any] = self._template.intrinsics(self.names).resolve(dict(resource.properties))
        return resolved

    def _make_table(self, resource: Resource) -> None:
        properties = self._resolve(resource)
        settings: dict[str, Any] = {name: properties[name] for name in _TABLE_SETTINGS if name in properties}
        if stream := properties.get("StreamSpecification"):
            settings["StreamSpecification"] = {"StreamEnabled": True, **stream}
        name = properties.get("TableName", f"{self._name}-{resource.id}")
        made = self._dynamodb.create_table(TableName=name, **settings)["TableDescription"]
        table = Table(resource.id, name, made["TableArn"], made.get("LatestStreamArn"), settings)
        self.tables[resource.id] = table
        self.names |= {resource.id: name, f"{resource.id}.Arn": table.arn, f"{resource.id}.StreamArn": table.stream}

    def _make_queue(self, resource: Resource) -> None:
        properties = self._resolve(resource)
        name = properties.get("QueueName", f"{self._name}-{resource.id}")
        attributes: dict[Any, str] = {key: _attribute(properties[key]) for key in _QUEUE_SETTINGS if key in properties}
        url = self._sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        arn = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        self.queues[resource.id] = Queue(
            resource.id,
            name,
            url,
            arn,
            int(properties.get("DelaySeconds", 0)),
            int(properties.get("VisibilityTimeout", 30)),
            properties.get("RedrivePolicy", {}).get("deadLetterTargetArn"),
        )
        self.names |= {resource.id: url, f"{resource.id}.Arn": arn, f"{resource.id}.QueueName": name}


def _attribute(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
