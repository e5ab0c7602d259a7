"""Lines of the log: JSON, once, and each with the keys that are its own."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import Any

import pytest

from durable.api.log import ExecutionLog
from durable.aws.logging import process_logger, service_logger


@pytest.fixture(autouse=True)
def service() -> None:
    process_logger().clear_state()  # of the invocations that earlier tests made in this process
    service_logger("shop")


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.rule("D12")
def test_a_line_of_a_workflow_is_one_json_object_with_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    log = ExecutionLog({"workflow": "checkout", "execution_id": "order-1", "step": "charge"})
    log.info("charged %s", "12.50", extra={"card": "visa"})
    (line,) = lines(capsys)
    assert {name: line[name] for name in line if name not in ("timestamp", "location")} == {
        "level": "INFO",
        "message": "charged 12.50",
        "service": "shop",
        "workflow": "checkout",
        "execution_id": "order-1",
        "step": "charge",
        "card": "visa",
    }


def test_the_keys_of_one_execution_are_not_on_the_lines_of_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    ExecutionLog({"execution_id": "order-1", "step": "charge"}).info("one")
    ExecutionLog({"execution_id": "order-2"}).info("two")
    logging.getLogger("durable.worker").info("three")
    one, two, three = lines(capsys)
    assert (one["execution_id"], one["step"]) == ("order-1", "charge")
    assert (two["execution_id"], "step" in two) == ("order-2", False)
    assert "execution_id" not in three


def test_a_warm_process_writes_a_line_once(capsys: pytest.CaptureFixture[str]) -> None:
    loggers = {id(service_logger("shop")) for _ in range(3)}
    assert loggers == {id(process_logger())}
    logging.getLogger("durable.workflow").info("once")
    assert [line["message"] for line in lines(capsys)] == ["once"]


IN_LAMBDA = """
import logging, sys

logging.root.addHandler(logging.StreamHandler(sys.stderr))  # as Lambda's runtime does before it loads a handler

from durable.aws.logging import service_logger

service_logger("shop")
logging.getLogger("durable.workflow").warning("ours")
logging.getLogger("shop").warning("the user's")
"""


def test_lambdas_own_handler_does_not_write_it_again() -> None:
    process = subprocess.run([sys.executable, "-c", IN_LAMBDA], check=True, capture_output=True, text=True)
    assert [json.loads(line)["message"] for line in process.stdout.splitlines()] == ["ours"]
    assert process.stderr.splitlines() == ["the user's"]


def test_tests_can_read_the_lines(caplog: pytest.LogCaptureFixture) -> None:
    ExecutionLog({"execution_id": "order-1"}).warning("seen")
    assert caplog.messages == ["seen"]


def test_an_error_carries_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("no such card")
    except ValueError:
        logging.getLogger("durable.workflow").exception("failed")
    (line,) = lines(capsys)
    assert (line["level"], line["exception_name"], "no such card" in line["exception"]) == ("ERROR", "ValueError", True)
