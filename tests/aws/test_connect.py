"""The client for callers outside Lambda."""

from __future__ import annotations

import json
import subprocess
import sys

import boto3
import pytest

import durable
from durable import Client, Context, ExecutionNotFound, workflow
from durable.aws.clients import Clients
from durable.testing.template.stack import Stack


@workflow
def greet(ctx: Context, name: str) -> str:
    return f"hello {name}"


@pytest.fixture
def client(stack: Stack) -> Client:
    session = boto3.Session("testing", "testing", region_name="us-east-1")
    return durable.connect(
        table=stack.tables["Table"].name, queue=stack.queues["ContinuationQueue"].url, session=session
    )


@pytest.mark.rule("E2")
def test_a_caller_outside_lambda_starts_an_execution(client: Client, clients: Clients, stack: Stack) -> None:
    execution = client.start(greet, "Ada", execution_id="greeting-1")
    assert (execution.id, execution.status) == ("greeting-1", "pending")
    (message,) = clients.sqs().receive_message(QueueUrl=stack.queues["ContinuationQueue"].url)["Messages"]
    assert json.loads(message["Body"])["execution"] == "greeting-1"
    assert client.get(greet, "greeting-1").status == "pending"


def test_an_execution_that_is_not_there_is_told_so(client: Client) -> None:
    with pytest.raises(ExecutionNotFound, match="there is no execution 'greeting-9'"):
        _ = client.get("greeting-9").status


def test_connecting_makes_no_call() -> None:
    nowhere = "https://sqs.eu-west-1.amazonaws.com/123456789012/continuations"
    assert isinstance(durable.connect(table="orders", queue=nowhere), Client)


def test_the_library_loads_no_aws_package() -> None:
    code = (
        "import sys, durable\n"
        "aws = {'boto3', 'botocore', 'pynamodb', 'aws_lambda_powertools', 'moto'}\n"
        "print(sorted(aws & sys.modules.keys()))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
