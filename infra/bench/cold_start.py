"""Cold starts of the built functions under Lambda's own runtime: from the start of the process to its first answer.

    .venv/bin/python -m infra.bench.cold_start

Each function gets an event that makes it build its application and ask the table. The measure for all of them is a handler
that makes a boto3 DynamoDB client and no more. Times are this machine's: read the ratios.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

from durable.protocol.continuation import Continuation
from durable.testing.template.definitions import FunctionDefinition, functions
from infra.bench.report import Figure, show
from infra.local.artefact import Artefact
from infra.local.runtime import LambdaRuntime

RUNS = 5
MOST = 2.0  # times as long as the baseline
EVENTS = Path(__file__).parents[2] / "tests" / "events"
BASELINE = """
import boto3

client = boto3.client("dynamodb")


def handler(event, context):
    return {}
"""


def figures() -> Iterator[Figure]:
    """Seconds of the baseline, and how many times as long each function takes."""
    with tempfile.TemporaryDirectory() as folder, _answering() as endpoint:
        for how in ("as built", "without bytecode"):
            artefact = Artefact.built().copy(Path(folder) / how.replace(" ", "-"))
            if how == "without bytecode":
                for bytecode in list(artefact.folder.rglob("__pycache__")):
                    shutil.rmtree(bytecode)
            took = ColdStarts(artefact, endpoint, Path(folder)).seconds()
            baseline = took.pop("baseline")
            yield Figure(f"a handler with a boto3 DynamoDB client alone, {how}", 1000 * baseline, "ms")
            for function, seconds in took.items():
                yield Figure(f"{function}, {how}", seconds / baseline, "times that", MOST)


class ColdStarts:
    """Starts functions again and again."""

    def __init__(self, artefact: Artefact, endpoint: str, folder: Path) -> None:
        self._artefact = artefact
        self._folder = folder
        self._environment = {"AWS_ENDPOINT_URL": endpoint, "DEMO_BANK_URL": endpoint}
        self._definitions = {definition.id: definition for definition in functions(artefact.template(), Names())}
        baseline = artefact.code("baseline")
        baseline.mkdir()
        (baseline / "baseline.py").write_text(BASELINE)
        worker = self._definitions["Worker"]
        self._definitions["baseline"] = replace(worker, id="baseline", handler="baseline.handler")

    def seconds(self) -> dict[str, float]:
        """The median of several cold starts of each, in turn."""
        took: dict[str, list[float]] = {function: [] for function in self._definitions}
        for _ in range(RUNS):
            for function, definition in self._definitions.items():
                took[function].append(self._start(definition))
        return {function: median(runs) for function, runs in took.items()}

    def _start(self, definition: FunctionDefinition) -> float:
        event = event_for(definition.id)
        with LambdaRuntime(
            definition, self._artefact, self._environment, self._folder / f"{definition.id}.log"
        ) as runtime:
            began = time.perf_counter()  # the emulator starts the runtime's process when the first event comes
            answer = runtime.invoke(event)
            took = time.perf_counter() - began
        if answer.error:
            raise RuntimeError(f"{definition.id}: {answer.error}")
        return took


class Names(dict[str, str]):
    """A stack's names: each resource has its own."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return f"http://queue/{name}" if name.endswith("Queue") else name


def event_for(function: str) -> Any:
    """The first event of a cold start: what it is about is not there (any more), except for what starts something."""
    if function == "Sweeper":
        return {}
    kind = {
        "Worker": "continuation",
        "Api": "http",
        "Start": "start",
        "TerminalFailure": "stream",
        "DeadLetters": "dead_letter",
        "baseline": "continuation",
    }[function]
    event = json.loads((EVENTS / f"{kind}.json").read_text())
    if function in ("Worker", "DeadLetters"):
        continuation = Continuation(execution="order-1", revision=3, workflow="transfer", version=1, phase="forward")
        event["Records"][0]["body"] = continuation.encode()
    if function == "Start":
        order = {"source": "a", "target": "b", "amount": "1.00", "purpose": "books"}
        event["Records"][0]["body"] = json.dumps({"workflow": "transfer", "input": order})
    if function == "Api":
        event["rawPath"] = event["requestContext"]["http"]["path"] = "/executions/order-1"
        event["requestContext"]["http"]["method"] = "GET"
        event["body"] = None
    return event


@contextmanager
def _answering() -> Iterator[str]:
    """An AWS that takes no time: the URL of one in which nothing exists, and everything can be made."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Nothing)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Nothing(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        status = 200
        answer: dict[str, Any] = {}
        if operation == "UpdateItem":
            status, answer = 400, {"__type": "#ConditionalCheckFailedException", "message": "there is no such item"}
        elif operation == "Query":
            answer = {"Items": [], "Count": 0, "ScannedCount": 0}
        elif operation == "SendMessage":
            answer = {"MessageId": "1"}
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nobody is told."""


def main() -> int:
    """Measure and print."""
    measured = list(figures())
    show("Cold starts", measured)
    return 0 if all(figure.kept for figure in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
