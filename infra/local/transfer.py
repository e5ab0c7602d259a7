"""Starts a transfer on the stack of `make deploy-local`, through its start queue, and tells what becomes of it."""

from __future__ import annotations

import json
import os
import sys
import time
from uuid import uuid4

import boto3

import durable
from durable import Execution, ExecutionNotFound

SOURCE, TARGET = "XQ02NORD9794553847", "XQ06TUSS9386630343"
CLOSED = "XQ00NOWHERE0000000"  # no bank has it: the transfer fails, and what was debited is credited back
WAIT = 300.0  # seconds


def main(arguments: list[str]) -> None:
    target = CLOSED if arguments == ["--fails"] else TARGET
    execution_id = f"transfer-{uuid4().hex[:8]}"
    order = {"source": SOURCE, "target": target, "amount": "25.00", "purpose": "books"}
    start = {"workflow": "transfer", "execution_id": execution_id, "input": order}
    boto3.client("sqs").send_message(QueueUrl=os.environ["START_QUEUE"], MessageBody=json.dumps(start))
    print(f"{execution_id}: asked for")
    execution = ended(execution_id)
    for entry in execution.history:
        print(f"  {entry.kind:<10} {entry.path:<10} {entry.status:<10} attempts: {entry.attempts}")
    outcome = execution.output if execution.status == "completed" else execution.error
    print(f"{execution_id}: {execution.status}, {outcome}; rollback: {execution.rollback.outcome}")


def ended(execution_id: str) -> Execution[object, object]:
    """The execution, when it has ended."""
    client = durable.connect(table=os.environ["TABLE"], queue=os.environ["QUEUE"])
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        time.sleep(1)
        try:
            execution = client.get(execution_id)
        except ExecutionNotFound:
            continue
        if execution.status in ("completed", "failed", "cancelled", "terminated"):
            return execution
    sys.exit(f"{execution_id} has not ended after {WAIT:.0f} seconds: the functions' logs say why")


if __name__ == "__main__":
    main(sys.argv[1:])
