"""What each function's role allows, by the template: a call that AWS would refuse must not pass in a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product
from typing import Any
from urllib.parse import urlsplit

from durable.engine.interrupts import ProcessEnds
from durable.testing.aws.scheduler import schedule_of
from durable.testing.aws.wire import Request
from durable.testing.template.intrinsics import NO_VALUE, Intrinsics, Unresolved
from durable.testing.template.stack import ACCOUNT, Stack
from durable.testing.template.template import FUNCTION, Template

ROLE = "AWS::IAM::Role"

Grant = tuple[str, str]  # an action and the ARN of a resource; either may hold wildcards

_INSIDE_TRANSACTIONS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
    "Get": "GetItem",
}


class NotPermitted(ProcessEnds):
    """A function made a call that its role does not allow. It passes everything that would retry it."""


class Permissions:
    """The grants of the functions whose roles stand in the template; the calls of others are not checked.

    Checked are the calls to DynamoDB, SQS, EventBridge, its Scheduler and S3: what the library itself makes.
    """

    def __init__(self, template: Template, stack: Stack) -> None:
        self._stack = stack
        self._tables = {table.name: table.arn for table in stack.tables.values()}
        roles = dict(_roles(template, stack))
        self._grants = dict(_grants(template, roles))
        self._of_role = {stack.names[f"{role}.Arn"]: grants for role, grants in roles.items()}
        self.used: dict[str, set[Grant]] = {}

    def granted(self, function: str) -> tuple[Grant, ...] | None:
        """What the function's role allows; None when the template does not say."""
        return self._grants.get(function)

    def check_role(self, arn: str, action: str, resource: str) -> None:
        """Raise NotPermitted when a role of the template does not allow the action; others are not checked."""
        grants = self._of_role.get(arn)
        if grants is not None and not any(_allows(grant, action, resource) for grant in grants):
            raise NotPermitted(f"the role {arn} of the template does not allow {action} on {resource}.")

    def check(self, function: str, request: Request) -> None:
        """Raises NotPermitted when the role of the function does not allow the call."""
        grants = self._grants.get(function)
        if grants is None:
            return
        for action, resource in self._needed(request):
            fitting = [each for each in grants if _allows(each, action, resource)]
            if not fitting:
                raise NotPermitted(
                    f"the function {function} called {action} on {resource}, and its role in the template does not "
                    "allow that: on AWS the call would be denied."
                )
            self.used.setdefault(function, set()).update(fitting)

    def _needed(self, request: Request) -> Iterator[Grant]:
        match request.service:
            case "dynamodb":
                yield from self._of_table(request.operation, request.parameters)
            case "sqs":
                queue = self._stack.queue_of(str(request.parameters.get("QueueUrl", "")))
                if queue is not None:
                    yield f"sqs:{request.operation.removesuffix('Batch')}", queue.arn
            case "eventbridge":
                for entry in request.parameters.get("Entries", ()):
                    bus = entry.get("EventBusName", "default")
                    yield (
                        f"events:{request.operation}",
                        f"arn:aws:events:{self._stack.region}:{ACCOUNT}:event-bus/{bus}",
                    )
            case "scheduler":
                schedule = "/".join(schedule_of(request))
                arn = f"arn:aws:scheduler:{self._stack.region}:{ACCOUNT}:schedule/{schedule}"
                yield f"scheduler:{request.operation}", arn
                if "Target" in request.parameters:
                    yield "iam:PassRole", request.parameters["Target"]["RoleArn"]
            case "s3":
                bucket, _, key = bucket_and_key(request.url).partition("/")
                match request.operation:
                    case "ListObjectsV2":
                        yield "s3:ListBucket", f"arn:aws:s3:::{bucket}"
                    case "DeleteObjects":  # of keys that the body names
                        yield "s3:DeleteObject", f"arn:aws:s3:::{bucket}/keys"
                    case operation:
                        yield f"s3:{operation}", f"arn:aws:s3:::{bucket}/{key}"

    def _of_table(self, operation: str, parameters: Mapping[str, Any]) -> Iterator[Grant]:
        if "TransactItems" in parameters:
            for item in parameters["TransactItems"]:
                ((kind, details),) = item.items()
                yield from self._on(f"dynamodb:{_INSIDE_TRANSACTIONS[kind]}", details["TableName"])
        elif "RequestItems" in parameters:
            for table in parameters["RequestItems"]:
                yield from self._on(f"dynamodb:{operation}", table)
        elif "TableName" in parameters:
            index = parameters.get("IndexName")
            yield from self._on(f"dynamodb:{operation}", parameters["TableName"], f"/index/{index}" if index else "")

    def _on(self, action: str, table: str, index: str = "") -> Iterator[Grant]:
        if table in self._tables:  # a table of the test's own is the test's own business
            yield action, self._tables[table] + index


def bucket_and_key(url: str) -> str:
    """`bucket/key` of a call to S3, which has the bucket in the host, or in the path."""
    address = urlsplit(url)
    bucket, found, _ = (address.hostname or "").partition(".s3.")
    return f"{bucket}{address.path}" if found else address.path.lstrip("/")


def _allows(grant: Grant, action: str, resource: str) -> bool:
    return fnmatchcase(action.lower(), grant[0].lower()) and fnmatchcase(resource, grant[1])


def _roles(template: Template, stack: Stack) -> Iterator[tuple[str, tuple[Grant, ...]]]:
    """What each role of the template allows, by its logical id; what managed policies allow does not stand there."""
    intrinsics = template.intrinsics(stack.names)
    for role in template.resources(ROLE):
        if "ManagedPolicyArns" not in role.properties:
            documents = [policy["PolicyDocument"] for policy in role.properties.get("Policies", ())]
            statements = [statement for document in documents for statement in document["Statement"]]
            yield role.id, tuple(grant for each in statements for grant in _granted(intrinsics, each))


def _grants(template: Template, roles: Mapping[str, tuple[Grant, ...]]) -> Iterator[tuple[str, tuple[Grant, ...]]]:
    """What the role of each function allows, by the function's logical id."""
    for function in template.resources(FUNCTION):
        match function.properties.get("Role"):
            case {"Fn::GetAtt": str(name)} if (role := name.removesuffix(".Arn")) in roles:
                yield function.id, roles[role]


def _granted(intrinsics: Intrinsics, statement: Mapping[str, Any]) -> Iterator[Grant]:
    try:
        allowed = intrinsics.resolve(statement)
    except Unresolved:  # on something that is not made: a log group
        return
    if allowed is not NO_VALUE and allowed["Effect"] == "Allow":
        yield from product(_listed(allowed["Action"]), _listed(allowed["Resource"]))


def _listed(value: Any) -> Sequence[str]:
    return value if isinstance(value, list) else [value]
