"""The project's template: what must not be missed, and what no emulator shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from durable.aws.metrics import _EXECUTIONS, _INCIDENTS, _ROLLBACKS, _STEPS
from durable.testing.aws.patterns import matches
from durable.testing.template.definitions import QueueSource, ScheduleSource, StreamSource, functions
from durable.testing.template.template import FUNCTION, Template

ROOT = Path(__file__).parent.parent
KEY = "arn:aws:kms:us-east-1:123456789012:key/0"
LEASE_MARGIN = 10  # seconds that a lease outlives its invocation's deadline
TIMEOUTS = ("30", "60", "120", "300", "600", "900")


class _Symbols(dict[str, Any]):
    """Every name stands for itself."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return f"<{name}>"


def resolved(template: Template, kind: str) -> dict[str, dict[str, Any]]:
    """The properties of the resources of a type, names left as symbols."""
    intrinsics = template.intrinsics(_Symbols())
    return {resource.id: intrinsics.resolve(dict(resource.properties)) for resource in template.resources(kind)}


@pytest.fixture(scope="module")
def template() -> Template:
    return Template.load(ROOT / "template.yaml")


def statements(template: Template) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, role in resolved(template, "AWS::IAM::Role").items():
        for policy in role["Policies"]:
            for statement in policy["PolicyDocument"]["Statement"]:
                yield name, statement


def test_no_function_is_stopped_as_a_loop(template: Template) -> None:
    stops = {name: properties.get("RecursiveLoop") for name, properties in resolved(template, FUNCTION).items()}

    assert stops == dict.fromkeys(("Worker", "Api", "Start", "TerminalFailure", "DeadLetters", "Sweeper"), "Allow")


@pytest.mark.parametrize("timeout", TIMEOUTS)
def test_a_continuation_stays_invisible_for_as_long_as_its_lease(timeout: str) -> None:
    template = Template.load(ROOT / "template.yaml", {"WorkerTimeout": timeout})
    queue = resolved(template, "AWS::SQS::Queue")["ContinuationQueue"]
    worker = resolved(template, FUNCTION)["Worker"]

    assert int(worker["Timeout"]) == int(timeout)
    assert queue["VisibilityTimeout"] == int(timeout) + LEASE_MARGIN + 5


def test_every_worker_timeout_on_offer_has_its_visibility(template: Template) -> None:
    offered = template.document["Parameters"]["WorkerTimeout"]["AllowedValues"]

    assert tuple(offered) == TIMEOUTS
    assert set(offered) == set(template.document["Mappings"]["Visibility"])


def test_every_queue_outlives_the_functions_that_poll_it(template: Template) -> None:
    queues = resolved(template, "AWS::SQS::Queue")
    for name, properties in resolved(template, FUNCTION).items():
        for event in properties.get("Events", {}).values():
            if event["Type"] == "SQS":
                queue = event["Properties"]["Queue"].strip("<>").removesuffix(".Arn")
                assert queues[queue]["VisibilityTimeout"] >= int(properties["Timeout"]), name


def test_queues_are_encrypted_and_keep_messages_as_long_as_sqs_can(template: Template) -> None:
    kept = {
        name: (properties["MessageRetentionPeriod"], properties["SqsManagedSseEnabled"])
        for name, properties in resolved(template, "AWS::SQS::Queue").items()
    }

    fourteen_days = 14 * 24 * 3600
    assert kept == dict.fromkeys(
        ("ContinuationQueue", "DeadLetterQueue", "StartQueue", "RejectedQueue"), (fourteen_days, True)
    )


def test_messages_that_are_received_too_often_have_a_place_to_go(template: Template) -> None:
    redrives = {
        name: properties.get("RedrivePolicy") for name, properties in resolved(template, "AWS::SQS::Queue").items()
    }

    assert redrives == {
        "ContinuationQueue": {"deadLetterTargetArn": "<DeadLetterQueue.Arn>", "maxReceiveCount": 20},
        "StartQueue": {"deadLetterTargetArn": "<RejectedQueue.Arn>", "maxReceiveCount": 20},
        "DeadLetterQueue": None,
        "RejectedQueue": None,
    }


def test_every_event_source_is_as_the_protocol_needs_it(template: Template) -> None:
    names = _Symbols()
    sources = {definition.id: definition.sources for definition in functions(template, names)}

    (worker,) = sources["Worker"]
    (stream,) = sources["TerminalFailure"]
    (sweep,) = sources["Sweeper"]
    assert sources["Api"] == ()
    assert worker == QueueSource("Worker", "<ContinuationQueue.Arn>", batch_size=1, partial_failures=True)
    assert sources["Start"] == (QueueSource("Start", "<StartQueue.Arn>", 10, partial_failures=True),)
    assert sources["DeadLetters"] == (QueueSource("DeadLetters", "<DeadLetterQueue.Arn>", 10, partial_failures=True),)
    assert isinstance(stream, StreamSource)
    assert (
        stream.stream,
        stream.starting_position,
        stream.partial_failures,
        stream.bisect,
        stream.maximum_retries,
    ) == (
        "<Table.StreamArn>",
        "TRIM_HORIZON",
        True,
        True,
        10,
    )
    assert isinstance(sweep, ScheduleSource)
    assert sweep.every.total_seconds() == 300


@pytest.mark.rule("R3")
@pytest.mark.parametrize(
    ("before", "after", "triggers"),
    [
        ("running", "failing", True),
        ("waiting", "cancelling", True),
        ("paused", "cancelling", True),
        ("failing", "failing", False),
        ("failing", "cancelling", False),
        ("cancelling", "failing", False),
        ("failing", "rolling_back", False),
        ("running", "waiting", False),
        ("rolling_back", "failed", False),
        (None, "failing", False),
        (None, "pending", False),
        ("completed", None, False),
    ],
)
def test_the_stream_triggers_where_a_status_becomes_failing(
    template: Template, before: str | None, after: str | None, triggers: bool
) -> None:
    images = {"OldImage": before, "NewImage": after}
    record = {"dynamodb": {name: {"status": {"S": status}} for name, status in images.items() if status is not None}}

    assert filtered(template, record) == [triggers, False]


@pytest.mark.rule("R10")
@pytest.mark.parametrize(
    ("before", "after", "triggers"),
    [
        ({}, {"rollback": {"S": "failed"}}, True),
        ({"rollback": {"S": "failed"}}, {"rollback": {"S": "failed"}}, False),  # its purge takes it
        ({"rollback": {"S": "failed"}}, None, False),
        ({}, {}, False),
        (None, {}, False),
    ],
)
def test_the_stream_tells_of_a_rollback_when_it_has_failed(
    template: Template, before: Any, after: Any, triggers: bool
) -> None:
    status = {"status": {"S": "failed"}}
    images = {"OldImage": before, "NewImage": after}
    record = {"dynamodb": {name: status | image for name, image in images.items() if image is not None}}

    assert filtered(template, record) == [False, triggers]


def filtered(template: Template, record: Any) -> list[bool]:
    """Which filters of the stream let a record through."""
    ((source,),) = [item.sources for item in functions(template, _Symbols()) if item.id == "TerminalFailure"]
    assert isinstance(source, StreamSource)
    return [matches(pattern, record) for pattern in source.filters]


def test_the_worker_limits_polling_and_reserves_no_concurrency(template: Template) -> None:
    worker = resolved(template, FUNCTION)["Worker"]

    assert worker["Events"]["Continuations"]["Properties"]["ScalingConfig"] == {"MaximumConcurrency": 50}
    assert "ReservedConcurrentExecutions" not in worker


def test_the_table_keeps_its_data_and_shows_both_images(template: Template) -> None:
    (table,) = resolved(template, "AWS::DynamoDB::Table").values()

    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires", "Enabled": True}
    assert table["SSESpecification"] == {"SSEEnabled": True}
    assert {
        index["IndexName"]: ([key["AttributeName"] for key in index["KeySchema"]], index["Projection"])
        for index in table["GlobalSecondaryIndexes"]
    } == {
        "due": (["due_shard", "due"], {"ProjectionType": "KEYS_ONLY"}),
        "list": (["list_key", "created"], {"ProjectionType": "KEYS_ONLY"}),
    }
    assert template.document["Resources"]["Table"]["DeletionPolicy"] == "RetainExceptOnCreate"


@pytest.mark.parametrize("transport", ["sqs", "eventbridge"])
def test_no_policy_has_a_wildcard_but_for_names_of_schedules_and_payloads(transport: str) -> None:
    template = Template.load(ROOT / "template.yaml", {"Transport": transport, "KmsKeyArn": KEY})
    wild = [
        (role, statement["Action"], text)
        for role, statement in statements(template)
        for text in [*statement["Action"], statement["Resource"]]
        if "*" in text
    ]

    schedules = "arn:<AWS::Partition>:scheduler:<AWS::Region>:<AWS::AccountId>:schedule/<ScheduleGroup>/*"
    both = ["scheduler:CreateSchedule", "scheduler:DeleteSchedule"]
    objects = "<PayloadBucket.Arn>/*"
    assert wild == [
        ("WorkerRole", both, schedules),
        ("WorkerRole", ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"], objects),
        ("ApiRole", both, schedules),
        ("ApiRole", ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"], objects),
        ("StartRole", ["s3:PutObject", "s3:DeleteObject"], objects),
        ("DeadLettersRole", ["scheduler:CreateSchedule"], schedules),
        ("SweeperRole", ["s3:DeleteObject"], objects),
    ]


def test_steps_get_at_the_tables_that_are_named_and_the_other_functions_do_not() -> None:
    tables = [f"arn:aws:dynamodb:us-east-1:123456789012:table/{name}" for name in ("seats", "bookings")]
    without = list(statements(Template.load(ROOT / "template.yaml")))
    template = Template.load(ROOT / "template.yaml", {"StepTableArns": tables})
    added = [statement for statement in statements(template) if statement not in without]

    inside_transactions = {f"dynamodb:{action}Item" for action in ("ConditionCheck", "Put", "Update", "Delete")}
    ((role, statement),) = added
    assert (role, statement["Effect"], statement["Resource"]) == ("WorkerRole", "Allow", tables)
    assert set(statement["Action"]) == {"dynamodb:GetItem", "dynamodb:Query"} | inside_transactions


@pytest.mark.parametrize(
    ("arn", "taken"),
    [
        ("", True),
        ("arn:aws:dynamodb:us-east-1:123456789012:table/seats", True),
        ("arn:aws-us-gov:dynamodb:us-gov-east-1:123456789012:table/seats/index/by-row", True),
        ("arn:aws:dynamodb:us-east-1:123456789012:table/*", False),
        ("seats", False),
        ("*", False),
    ],
)
def test_tables_of_steps_are_named_one_by_one(template: Template, arn: str, taken: bool) -> None:
    pattern = template.document["Parameters"]["StepTableArns"]["AllowedPattern"]

    assert bool(re.fullmatch(pattern, arn)) is taken


def test_a_role_is_passed_to_the_scheduler_alone(template: Template) -> None:
    passed = [
        (role, statement["Resource"], statement["Condition"])
        for role, statement in statements(template)
        if "iam:PassRole" in statement["Action"]
    ]

    only = {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
    assert passed == [(role, "<ScheduleRole.Arn>", only) for role in ("WorkerRole", "ApiRole", "DeadLettersRole")]


@pytest.mark.parametrize("transport", ["sqs", "eventbridge"])
def test_who_only_sends_without_delay_may_use_the_transport_and_nothing_else(transport: str) -> None:
    template = Template.load(ROOT / "template.yaml", {"Transport": transport})
    to_bus = ("events:PutEvents", "<Bus.Arn>")
    to_queue = ("sqs:SendMessage", "<ContinuationQueue.Arn>")
    allowed: dict[str, set[tuple[str, str]]] = {}
    for role, statement in statements(template):
        found = allowed.setdefault(role, set())
        found |= {(action, statement["Resource"]) for action in statement["Action"]} & {to_bus, to_queue}

    one = {to_bus} if transport == "eventbridge" else {to_queue}
    assert allowed == {
        "WorkerRole": {to_bus, to_queue},  # bodies publish events of their own
        "ApiRole": {to_queue} | one,
        "StartRole": one,
        "TerminalFailureRole": {to_bus} | one,  # it tells of rollbacks that failed
        "DeadLettersRole": {to_queue},
        "SweeperRole": one,
        "ScheduleRole": {to_queue},
    }


def test_every_function_has_a_role_of_its_own_and_no_managed_policy(template: Template) -> None:
    roles = {name: properties["Role"] for name, properties in resolved(template, FUNCTION).items()}

    assert roles == {name: f"<{name}Role.Arn>" for name in roles}
    assert all("ManagedPolicyArns" not in role for role in resolved(template, "AWS::IAM::Role").values())


def test_every_function_that_polls_may_poll(template: Template) -> None:
    allowed: dict[str, set[str]] = {}
    for role, statement in statements(template):
        for action in statement["Action"]:
            allowed.setdefault(role, set()).add(f"{action} {statement['Resource']}")
    for definition in functions(template, _Symbols()):
        for source in definition.sources:
            match source:
                case QueueSource(queue=queue):
                    needed = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
                    assert {f"{action} {queue}" for action in needed} <= allowed[f"{definition.id}Role"]
                case StreamSource(stream=stream):
                    needed = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}
                    assert {f"dynamodb:{action} {stream}" for action in needed} <= allowed[f"{definition.id}Role"]


def test_every_function_has_the_same_environment(template: Template) -> None:
    for definition in functions(template, _Symbols()):
        assert definition.environment == {
            "DURABLE_WORKFLOWS": "handler.workflows",
            "DURABLE_TABLE": "<Table>",
            "DURABLE_QUEUE": "<ContinuationQueue>",
            "DURABLE_QUEUE_ARN": "<ContinuationQueue.Arn>",
            "DURABLE_REJECTED_QUEUE": "<RejectedQueue>",
            "DURABLE_TRANSPORT": "sqs",
            "DURABLE_BUS": "<Bus>",
            "DURABLE_SCHEDULE_GROUP": "<ScheduleGroup>",
            "DURABLE_SCHEDULE_ROLE": "<ScheduleRole.Arn>",
            "DURABLE_BUCKET": "<PayloadBucket>",
            "DURABLE_STEPS": "1",
            "DURABLE_INLINE_WAIT": "1",
            "DURABLE_DRIFT": "off",
            "POWERTOOLS_SERVICE_NAME": "<AWS::StackName>",
            "POWERTOOLS_METRICS_NAMESPACE": "Durable",
            "POWERTOOLS_LOG_LEVEL": "INFO",
        }


def test_a_budget_in_seconds_is_an_environment_variable_only_when_it_is_given() -> None:
    template = Template.load(ROOT / "template.yaml", {"SecondsPerInvocation": "20", "StepsPerInvocation": 50})
    (worker,) = [definition for definition in functions(template, _Symbols()) if definition.id == "Worker"]

    assert (worker.environment["DURABLE_SECONDS"], worker.environment["DURABLE_STEPS"]) == ("20", "50")


def test_http_callers_are_authorised_by_iam(template: Template) -> None:
    (route,) = resolved(template, "AWS::ApiGatewayV2::Route").values()

    assert (route["RouteKey"], route["AuthorizationType"]) == ("$default", "AWS_IAM")
    assert "AuthorizerId" not in route
    assert resolved(template, "AWS::ApiGatewayV2::Authorizer") == {}


def test_http_callers_bring_a_jwt_where_there_is_an_issuer() -> None:
    issuer = {"JwtIssuer": "https://login.example.com/", "JwtAudience": "orders"}
    template = Template.load(ROOT / "template.yaml", issuer)
    (route,) = resolved(template, "AWS::ApiGatewayV2::Route").values()
    (authorizer,) = resolved(template, "AWS::ApiGatewayV2::Authorizer").values()

    assert (route["AuthorizationType"], route["AuthorizerId"]) == ("JWT", "<HttpAuthorizer>")
    assert authorizer["JwtConfiguration"] == {"Issuer": "https://login.example.com/", "Audience": "orders"}


def test_every_function_and_the_layer_are_built_by_a_target_of_the_makefile(template: Template) -> None:
    makefile = (ROOT / "infra" / "sam.mk").read_text()
    (names,) = [line.partition(":=")[2].split() for line in makefile.splitlines() if line.startswith("FUNCTIONS :=")]

    assert names == [resource.id for resource in template.resources(FUNCTION)]
    assert "build-DependenciesLayer:" in makefile
    built = [*names, "DependenciesLayer"]
    assert all(template.document["Resources"][name]["Metadata"]["BuildMethod"] == "makefile" for name in built)
    assert "include infra/sam.mk" in (ROOT / "Makefile").read_text()


def test_logs_are_kept_for_a_limited_time(template: Template) -> None:
    groups = resolved(template, "AWS::Logs::LogGroup")

    assert {f"{name}Log" for name in resolved(template, FUNCTION)} | {"HttpLog"} == set(groups)
    assert all(group["RetentionInDays"] == 30 for group in groups.values())


# --- the transport, long waits, starts -------------------------------------------------------------------------------


def test_the_bus_delivers_to_the_queue_only_where_it_is_the_transport(template: Template) -> None:
    assert resolved(template, "AWS::Events::Rule") == {}
    assert resolved(template, "AWS::SQS::QueuePolicy") == {}

    (rule,) = resolved(
        Template.load(ROOT / "template.yaml", {"Transport": "eventbridge"}), "AWS::Events::Rule"
    ).values()
    assert rule == {
        "EventBusName": "<Bus>",
        "EventPattern": {"source": ["durable"], "detail-type": ["continuation"]},
        "Targets": [
            {
                "Id": "continuations",
                "Arn": "<ContinuationQueue.Arn>",
                "InputPath": "$.detail",
                "RetryPolicy": {"MaximumEventAgeInSeconds": 86400, "MaximumRetryAttempts": 185},
                "DeadLetterConfig": {"Arn": "<DeadLetterQueue.Arn>"},
            }
        ],
    }


@pytest.mark.parametrize(
    ("parameters", "rule", "queues"),
    [
        ({"Transport": "eventbridge"}, "ContinuationRule", {"ContinuationQueue", "DeadLetterQueue"}),
        ({"StartEventPattern": "{}", "StartEventWorkflow": "checkout"}, "StartRule", {"StartQueue", "RejectedQueue"}),
    ],
)
def test_a_rule_and_no_other_may_put_events_into_its_queue_and_its_dead_letters(
    parameters: dict[str, str], rule: str, queues: set[str]
) -> None:
    template = Template.load(ROOT / "template.yaml", parameters)
    allowed = {}
    for policy in resolved(template, "AWS::SQS::QueuePolicy").values():
        (queue,) = policy["Queues"]
        allowed[queue] = policy["PolicyDocument"]["Statement"]

    assert allowed == {
        f"<{queue}>": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "events.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": f"<{queue}.Arn>",
                "Condition": {"ArnEquals": {"aws:SourceArn": f"<{rule}.Arn>"}},
            }
        ]
        for queue in queues
    }


def test_the_scheduler_acts_for_this_deployments_schedules_alone(template: Template) -> None:
    (trust,) = resolved(template, "AWS::IAM::Role")["ScheduleRole"]["AssumeRolePolicyDocument"]["Statement"]

    assert trust == {
        "Effect": "Allow",
        "Principal": {"Service": "scheduler.amazonaws.com"},
        "Action": "sts:AssumeRole",
        "Condition": {
            "StringEquals": {"aws:SourceAccount": "<AWS::AccountId>"},
            "ArnEquals": {"aws:SourceArn": "<ScheduleGroup.Arn>"},
        },
    }


def test_an_event_starts_a_workflow_whose_execution_has_its_id() -> None:
    parameters = {
        "StartEventPattern": '{"source": ["shop"]}',
        "StartEventWorkflow": "checkout",
        "StartEventInputPath": "$.detail.order",
    }
    (rule,) = resolved(Template.load(ROOT / "template.yaml", parameters), "AWS::Events::Rule").values()

    (target,) = rule["Targets"]
    assert (rule["EventBusName"], rule["EventPattern"]) == ("default", '{"source": ["shop"]}')
    assert target["Arn"] == "<StartQueue.Arn>"
    assert target["InputTransformer"] == {
        "InputPathsMap": {"id": "$.id", "input": "$.detail.order"},
        "InputTemplate": '{"workflow": "checkout", "execution_id": "<id>", "input": <input>}',
    }


def test_a_tick_starts_a_workflow_whose_execution_has_its_time() -> None:
    parameters = {
        "StartSchedule": "cron(0 6 * * ? *)",
        "StartScheduleWorkflow": "report",
        "StartScheduleInput": '{"of": "yesterday"}',
    }
    template = Template.load(ROOT / "template.yaml", parameters)
    (schedule,) = resolved(template, "AWS::Scheduler::Schedule").values()

    assert (schedule["ScheduleExpression"], schedule["ScheduleExpressionTimezone"]) == ("cron(0 6 * * ? *)", "UTC")
    assert json.loads(schedule["Target"]["Input"]) == {
        "workflow": "report",
        "execution_id": "report-<aws.scheduler.scheduled-time>",
        "input": {"of": "yesterday"},
    }


# --- what is encrypted, and what an operator sees -------------------------------------------------------------------


def test_the_bucket_is_private_encrypted_and_spoken_to_over_tls(template: Template) -> None:
    (bucket,) = resolved(template, "AWS::S3::Bucket").values()
    (policy,) = resolved(template, "AWS::S3::BucketPolicy").values()
    (statement,) = policy["PolicyDocument"]["Statement"]

    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    (encryption,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    assert (statement["Effect"], statement["Action"], statement["Condition"]) == (
        "Deny",
        "s3:*",
        {"Bool": {"aws:SecureTransport": "false"}},
    )
    assert statement["Resource"] == ["<PayloadBucket.Arn>", "<PayloadBucket.Arn>/*"]
    (lifecycle,) = bucket["LifecycleConfiguration"]["Rules"]
    assert "ExpirationInDays" not in lifecycle  # an execution may live for years


def test_a_key_of_the_users_encrypts_everything_and_every_function_may_use_it() -> None:
    template = Template.load(ROOT / "template.yaml", {"KmsKeyArn": KEY})
    (table,) = resolved(template, "AWS::DynamoDB::Table").values()
    (bucket,) = resolved(template, "AWS::S3::Bucket").values()
    (bus,) = resolved(template, "AWS::Events::EventBus").values()
    queues = resolved(template, "AWS::SQS::Queue").values()
    logs = resolved(template, "AWS::Logs::LogGroup").values()

    assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
    (encryption,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY}
    assert bus["KmsKeyIdentifier"] == KEY
    assert {queue["KmsMasterKeyId"] for queue in queues} == {KEY}
    assert all("SqsManagedSseEnabled" not in queue for queue in queues)
    assert {group["KmsKeyId"] for group in logs} == {KEY}
    users = [role for role, each in statements(template) if each["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]]
    assert sorted(users) == sorted(resolved(template, "AWS::IAM::Role"))


def nested(template: Template, name: str) -> Template:
    """A nested template with the parameters that the template gives it."""
    properties = resolved(template, "AWS::CloudFormation::Stack")[name]
    return Template.load(ROOT / properties["TemplateURL"], properties["Parameters"])


def test_there_is_an_alarm_for_all_that_needs_a_person(template: Template) -> None:
    alarms = resolved(nested(template, "Alarms"), "AWS::CloudWatch::Alarm")
    watched = {
        name: (alarm.get("MetricName") or alarm["Metrics"][0]["Expression"], alarm["Threshold"])
        for name, alarm in alarms.items()
    }

    assert watched == {
        "DeadLetterAlarm": ("NumberOfMessagesReceived", 0),
        "OldestContinuationAlarm": ("ApproximateAgeOfOldestMessage", 3600),
        "RollbackFailedAlarm": (
            "SELECT SUM(RollbacksFailed) FROM \"Durable\" WHERE service = '<AWS::StackName>'",
            0,
        ),
        "ThrottleAlarm": ("SUM(METRICS())", 0),
        "RejectedAlarm": ("ApproximateNumberOfMessagesVisible", 0),
    }
    assert all("AlarmActions" not in alarm for alarm in alarms.values())


def test_alarms_are_told_to_the_topic_that_is_given() -> None:
    topic = "arn:aws:sns:us-east-1:123456789012:oncall"
    template = Template.load(ROOT / "template.yaml", {"AlarmTopicArn": topic})
    alarms = resolved(nested(template, "Alarms"), "AWS::CloudWatch::Alarm").values()

    assert [(alarm["AlarmActions"], alarm["OKActions"]) for alarm in alarms] == [([topic], [topic])] * 5


def test_throttles_of_every_function_are_watched(template: Template) -> None:
    alarm = resolved(nested(template, "Alarms"), "AWS::CloudWatch::Alarm")["ThrottleAlarm"]
    watched = [metric["MetricStat"]["Metric"]["Dimensions"][0]["Value"] for metric in alarm["Metrics"][1:]]

    assert watched == [f"<{name}>" for name in resolved(template, FUNCTION)]


def test_the_dashboard_shows_metrics_that_are_written(template: Template) -> None:
    (dashboard,) = resolved(nested(template, "Dashboard"), "AWS::CloudWatch::Dashboard").values()
    body = dashboard["DashboardBody"]

    assert len(json.loads(body)["widgets"]) == 7
    written = {*_STEPS.values(), *_EXECUTIONS.values(), *_ROLLBACKS.values(), *_INCIDENTS.values()}
    searched = set(re.findall(r"MetricName=(\w+)", body))
    assert searched - {"ExecutionsStarted", "StepDuration"} <= written
