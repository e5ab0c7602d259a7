"""The template's tables, queues, buses and schedules, made at any endpoint: what is tested is what is deployed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from durable.errors import ConfigurationError
from durable.testing.template.definitions import FunctionDefinition, functions
from durable.testing.template.intrinsics import Unresolved
from durable.testing.template.template import FUNCTION, Resource, Template

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_scheduler import EventBridgeSchedulerClient
    from mypy_boto3_sqs import SQSClient

TABLE = "AWS::DynamoDB::Table"
QUEUE = "AWS::SQS::Queue"
BUS = "AWS::Events::EventBus"
RULE = "AWS::Events::Rule"
SCHEDULE_GROUP = "AWS::Scheduler::ScheduleGroup"
SCHEDULE = "AWS::Scheduler::Schedule"
ROLE = "AWS::IAM::Role"
BUCKET = "AWS::S3::Bucket"

ACCOUNT = "123456789012"  # moto's
REGION = "us-east-1"  # of every harness

_NO_TIME = "2030-01-01T00:00:00.000"  # in the ARN of a stream that is nowhere
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
    receives: int = 0  # how often before that


@dataclass(frozen=True, slots=True)
class Table:
    """A table that was made."""

    id: str
    name: str
    arn: str
    stream: str | None  # ARN
    settings: Mapping[str, Any]  # key schema, indexes: as in the template


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of an event bus."""

    bus: str
    pattern: Mapping[str, Any]
    targets: Sequence[Mapping[str, Any]]  # as PutTargets takes them


@dataclass(frozen=True, slots=True)
class Services:
    """The clients through which a stack is made. Without one of the later, what it would make has a name only."""

    dynamodb: DynamoDBClient | None = None
    sqs: SQSClient | None = None
    events: EventBridgeClient | None = None
    scheduler: EventBridgeSchedulerClient | None = None
    s3: S3Client | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """What a template's deployment made, by logical id."""

    region: str
    tables: Mapping[str, Table]
    queues: Mapping[str, Queue]
    functions: Mapping[str, FunctionDefinition]
    names: Mapping[str, Any]  # `Table` and `Table.Arn`: what !Ref and !GetAtt give
    schedules: tuple[Mapping[str, Any], ...] = ()  # the template's own, as CreateSchedule takes them
    rules: tuple[Rule, ...] = ()

    @classmethod
    def create(
        cls,
        template: Template,
        dynamodb: DynamoDBClient,
        sqs: SQSClient,
        *,
        events: EventBridgeClient | None = None,
        scheduler: EventBridgeSchedulerClient | None = None,
        s3: S3Client | None = None,
        name: str = "durable",
    ) -> Stack:
        """Makes the template's resources through these clients, whatever their endpoint is.

        Buses, schedules and buckets without a client for them have a name, and nothing behind it.
        """
        region = dynamodb.meta.region_name
        return cls._made(template, region, name, Services(dynamodb, sqs, events, scheduler, s3))

    @classmethod
    def named(cls, template: Template, *, region: str = REGION, name: str = "durable") -> Stack:
        """The template's resources by their names, with nothing behind them."""
        return cls._made(template, region, name, Services())

    @classmethod
    def _made(cls, template: Template, region: str, name: str, services: Services) -> Stack:
        deployment = _Deployment(template, name, region, services)
        deployment.make()
        defined = {definition.id: definition for definition in functions(template, deployment.names)}
        return cls(
            region,
            deployment.tables,
            deployment.queues,
            defined,
            deployment.names,
            tuple(deployment.schedules),
            tuple(deployment.rules),
        )

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

    def __init__(self, template: Template, name: str, region: str, services: Services) -> None:
        self._template = template
        self._name = name
        self._services = services
        self.tables: dict[str, Table] = {}
        self.queues: dict[str, Queue] = {}
        self.schedules: list[Mapping[str, Any]] = []
        self.rules: list[Rule] = []
        self.names: dict[str, Any] = {
            "AWS::StackName": name,
            "AWS::Region": region,
            "AWS::AccountId": ACCOUNT,
            "AWS::Partition": "aws",
            "AWS::URLSuffix": "amazonaws.com",
        }
        for function in template.resources(FUNCTION):
            physical = f"{name}-{function.id}"
            self.names[function.id] = physical
            self.names[f"{function.id}.Arn"] = f"arn:aws:lambda:{region}:{ACCOUNT}:function:{physical}"
        for role in template.resources(ROLE):
            self._named(role.id, f"{name}-{role.id}", f"arn:aws:iam::{ACCOUNT}:role/{name}-{role.id}")
        for bucket in template.resources(BUCKET):
            physical = f"{name}-{bucket.id}".lower()
            self._named(bucket.id, physical, f"arn:aws:s3:::{physical}")

    def _named(self, identifier: str, physical: str, arn: str) -> None:
        self.names |= {identifier: physical, f"{identifier}.Arn": arn}

    def _arn(self, service: str, resource: str) -> str:
        return f"arn:aws:{service}:{self.names['AWS::Region']}:{ACCOUNT}:{resource}"

    def make(self) -> None:
        makers: dict[str, Callable[[Resource], None]] = {
            TABLE: self._make_table,
            QUEUE: self._make_queue,
            BUS: self._make_bus,
            RULE: self._make_rule,
            SCHEDULE_GROUP: self._make_schedule_group,
            SCHEDULE: self._make_schedule,
            BUCKET: self._make_bucket,
        }
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

    def _make_bucket(self, resource: Resource) -> None:
        if self._services.s3 is not None:
            self._services.s3.create_bucket(Bucket=self.names[resource.id])

    def _resolve(self, resource: Resource) -> dict[str, Any]:
        resolved: dict[str, Any] = self._template.intrinsics(self.names).resolve(dict(resource.properties))
        return resolved

    def _make_table(self, resource: Resource) -> None:
        properties = self._resolve(resource)
        settings: dict[str, Any] = {name: properties[name] for name in _TABLE_SETTINGS if name in properties}
        if specified := properties.get("StreamSpecification"):
            settings["StreamSpecification"] = {"StreamEnabled": True, **specified}
        name = properties.get("TableName", f"{self._name}-{resource.id}")
        arn = self._arn("dynamodb", f"table/{name}")
        stream: str | None = f"{arn}/stream/{_NO_TIME}" if "StreamSpecification" in settings else None
        if self._services.dynamodb is not None:
            made = self._services.dynamodb.create_table(TableName=name, **settings)["TableDescription"]
            arn, stream = made["TableArn"], made.get("LatestStreamArn")
        table = Table(resource.id, name, arn, stream, settings)
        self.tables[resource.id] = table
        self.names |= {resource.id: name, f"{resource.id}.Arn": table.arn, f"{resource.id}.StreamArn": table.stream}

    def _make_queue(self, resource: Resource) -> None:
        properties = self._resolve(resource)
        name = properties.get("QueueName", f"{self._name}-{resource.id}")
        attributes: dict[Any, str] = {key: _attribute(properties[key]) for key in _QUEUE_SETTINGS if key in properties}
        url = f"https://sqs.{self.names['AWS::Region']}.amazonaws.com/{ACCOUNT}/{name}"
        arn = self._arn("sqs", name)
        if (sqs := self._services.sqs) is not None:
            url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
            arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        self.queues[resource.id] = Queue(
            resource.id,
            name,
            url,
            arn,
            int(properties.get("DelaySeconds", 0)),
            int(properties.get("VisibilityTimeout", 30)),
            properties.get("RedrivePolicy", {}).get("deadLetterTargetArn"),
            int(properties.get("RedrivePolicy", {}).get("maxReceiveCount", 0)),
        )
        self.names |= {resource.id: url, f"{resource.id}.Arn": arn, f"{resource.id}.QueueName": name}

    def _make_bus(self, resource: Resource) -> None:
        bus = self._resolve(resource)["Name"]
        if self._services.events is not None:
            self._services.events.create_event_bus(Name=bus)
        self._named(resource.id, bus, self._arn("events", f"event-bus/{bus}"))

    def _make_rule(self, resource: Resource) -> None:
        properties = self._resolve(resource)
        rule, bus = f"{self._name}-{resource.id}", properties.get("EventBusName", "default")
        pattern = properties["EventPattern"]
        if self._services.events is not None:
            self._services.events.put_rule(
                Name=rule, EventBusName=bus, EventPattern=pattern if isinstance(pattern, str) else json.dumps(pattern)
            )
            self._services.events.put_targets(Rule=rule, EventBusName=bus, Targets=properties["Targets"])
        self.rules.append(
            Rule(bus, json.loads(pattern) if isinstance(pattern, str) else pattern, properties["Targets"])
        )
        self._named(resource.id, rule, self._arn("events", f"rule/{bus}/{rule}".replace("/default/", "/")))

    def _make_schedule_group(self, resource: Resource) -> None:
        group = self._resolve(resource)["Name"]
        if self._services.scheduler is not None:
            self._services.scheduler.create_schedule_group(Name=group)
        self._named(resource.id, group, self._arn("scheduler", f"schedule-group/{group}"))

    def _make_schedule(self, resource: Resource) -> None:
        settings = {"Name": f"{self._name}-{resource.id}", **self._resolve(resource)}
        self.schedules.append(settings)
        if self._services.scheduler is not None:
            self._services.scheduler.create_schedule(**settings)


def _attribute(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
