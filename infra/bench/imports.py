"""Import time of each handler beyond `import boto3`, by -X importtime, in processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

from infra.bench.report import Figure

HANDLERS = ("worker", "api", "start", "terminal_failure", "dead_letters", "sweeper")
RUNS = 5
LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \| +(\S+)")
UNUSED = ("moto", "pydantic", "asyncio", "unittest", "aws_xray_sdk", "pytest", "multiprocessing")


def figures() -> Iterator[Figure]:
    """Milliseconds of the modules' own time, the least of several runs."""
    yield Figure("import durable, after boto3", min(_own("durable", "durable") for _ in range(RUNS)), "ms", 25)
    for handler in HANDLERS:
        module = f"handler.{handler}"
        yield Figure(f"import {module}, after boto3", min(_own(module) for _ in range(RUNS)), "ms", 150)
    loaded = _loaded("handler.worker")
    for name in UNUSED:
        yield Figure(
            f"modules of {name} that handler.worker loads", sum(_is_of(module, name) for module in loaded), "", 0
        )


def _own(module: str, *packages: str) -> float:
    """Of what is loaded after boto3; `packages`: of these alone."""
    after = _times(f"import boto3\nimport {module}").items()
    before = _times("import boto3")
    own = [
        spent
        for name, spent in after
        if name not in before and (not packages or any(_is_of(name, each) for each in packages))
    ]
    return sum(own) / 1000


def _times(code: str) -> dict[str, int]:
    done = _run("-X", "importtime", "-c", code)
    return {name: int(spent) for spent, name in LINE.findall(done.stderr)}


def _loaded(module: str) -> list[str]:
    code = f"import sys, boto3\nseen = set(sys.modules)\nimport {module}\nprint(*(set(sys.modules) - seen))"
    return _run("-c", code).stdout.split()


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    on_lambda = {**os.environ, "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9001"}  # where a function loads all while it starts
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, env=on_lambda)


def _is_of(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
