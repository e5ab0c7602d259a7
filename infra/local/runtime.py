"""A function under Lambda's own runtime: AWS's client of the runtime interface, and AWS's emulator of what is behind it.

The emulator is in the SAM CLI's package. It takes one request at a time (a second one ends it), starts the runtime's
process anew after it died, and kills it when the function's time is over.
"""

from __future__ import annotations

import json
import platform
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from durable.errors import ConfigurationError
from durable.testing.template.definitions import FunctionDefinition
from infra.local.artefact import ROOT, Artefact
from infra.local.ports import free_port

PYTHON = ROOT / ".venv-lambda" / "bin" / "python"  # has what Lambda has, and nothing else
PATH = "/2015-03-31/functions/function/invocations"
PATIENCE = 60.0  # seconds, beside what the function may take: this machine may have much else to do
PROCESSORS = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


@dataclass(frozen=True, slots=True)
class Answer:
    """How an invocation ended: with a value, with an error that the handler raised, or with the process's death."""

    value: Any = None
    error: str = ""
    died: bool = False


class LambdaRuntime:
    """One function, in a process of its own."""

    def __init__(
        self,
        definition: FunctionDefinition,
        artefact: Artefact,
        environment: Mapping[str, str],
        log: Path,
        *,
        memory: int | None = None,
    ) -> None:
        """`environment` adds to the template's; `memory` bounds the process's address space, in bytes."""
        self._definition = definition
        self._timeout = definition.timeout.total_seconds()
        self._turn = Lock()
        self._log = log.open("ab")
        here, there = free_port(), free_port()
        self._url = f"http://127.0.0.1:{here}{PATH}"
        self._process = subprocess.Popen(
            [
                str(emulator()),
                *("--runtime-interface-emulator-address", f"127.0.0.1:{here}"),
                *("--runtime-api-address", f"127.0.0.1:{there}"),
                *_runtime(definition.handler, memory),
            ],
            cwd=artefact.code(definition.id),
            env={**_variables(definition, artefact), **definition.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        _until_it_listens(here, self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End it, with the runtime's process."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def invoke(self, event: object) -> Answer:
        """What the function answers to an event; the next caller waits until it has."""
        request = urllib.request.Request(self._url, json.dumps(event).encode(), method="POST")
        with self._turn:
            try:
                with urllib.request.urlopen(request, timeout=self._timeout + PATIENCE) as response:
                    return _answer(response.read().decode())
            except urllib.error.HTTPError as error:
                with error:
                    return Answer(error=error.read().decode(), died=True)


def emulator() -> Path:
    """AWS's emulator of the runtime interface, for this machine's processor."""
    name = f"aws-lambda-rie-{processor()}"
    for found in (ROOT / ".venv-sam" / "lib").glob(f"python3*/site-packages/samcli/local/rapid/{name}"):
        return found
    raise ConfigurationError(f"there is no {name} in .venv-sam: run `make .venv-sam/ready .venv-lambda/ready`.")


def processor() -> str:
    """This machine's processor, by the template's name for it."""
    return PROCESSORS[platform.machine().lower()]


def _runtime(handler: str, memory: int | None) -> Sequence[str]:
    if not PYTHON.exists():
        raise ConfigurationError("the runtime's client is not installed: run `make .venv-lambda/ready`.")
    command = (str(PYTHON), "-m", "awslambdaric", handler)
    return command if memory is None else ("/bin/sh", "-c", f'ulimit -v {memory // 1024}; exec "$@"', "sh", *command)


def _variables(definition: FunctionDefinition, artefact: Artefact) -> dict[str, str]:
    """What Lambda sets. Its folders can't be written to, so no bytecode is kept there."""
    code = artefact.code(definition.id)
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "PYTHONPATH": f"{code}:{artefact.packages}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LAMBDA_TASK_ROOT": str(code),
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_LAMBDA_FUNCTION_NAME": definition.name,
        "AWS_LAMBDA_FUNCTION_TIMEOUT": f"{definition.timeout.total_seconds():.0f}",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(definition.memory),
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{definition.name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": "$LATEST",
        "_HANDLER": definition.handler,
    }


def _answer(text: str) -> Answer:
    try:
        value = json.loads(text)
    except ValueError:  # "Task timed out after 3.00 seconds", in plain text
        return Answer(error=text, died=True)
    if isinstance(value, dict) and {"errorType", "errorMessage"} <= value.keys():
        return Answer(error=f"{value['errorType']}: {value['errorMessage']}")
    return Answer(value)


def _until_it_listens(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise ConfigurationError(f"the emulator did not start: its status is {process.poll()}")
