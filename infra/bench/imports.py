"""Import time of each handler beside that of boto3, by -X importtime, in processes of their own.

An environment with PYTHONDONTWRITEBYTECODE would have every process compile the modules again, which takes several times as
long as importing them: the processes run without that variable.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

from infra.bench.report import Figure

DURABLE = 0.25  # of the time that boto3 takes: durable itself …
HANDLERS = {  # … and all that a handler adds; api brings the resolver of requests
    "worker": 0.6,
    "api": 0.9,
    "start": 0.6,
    "terminal_failure": 0.6,
    "dead_letters": 0.6,
    "sweeper": 0.6,
}
RUNS = 5
LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \| +(\S+)")
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
UNUSED = ("moto", "pydantic", "asyncio", "unittest", "aws_xray_sdk", "pytest", "multiprocessing")


def figures() -> Iterator[Figure]:
    """The modules' own time beside that of boto3, each the least of several runs."""
    yield Figure("modules without bytecode, whose import times would say nothing", _uncompiled(), "", 0)
    boto3 = min(sum(_times("import boto3").values()) for _ in range(RUNS)) / 1000
    yield Figure("import boto3", boto3, "ms")
    durable = min(_own("durable", "durable") for _ in range(RUNS))
    yield Figure("import durable / import boto3", durable / boto3, "x", DURABLE)
    for handler, most in HANDLERS.items():
        own = min(_own(f"handler.{handler}") for _ in range(RUNS))
        yield Figure(f"import handler.{handler}, after boto3 / import boto3", own / boto3, "x", most)
    loaded = _loaded("handler.worker")
    for name in UNUSED:
        yield Figure(
            f"modules of {name} that handler.worker loads", sum(_is_of(module, name) for module in loaded), "", 0
        )


def _own(module: str, *packages: str) -> float:
    """Milliseconds of what is loaded after boto3; `packages`: of these alone."""
    after = _times(f"import boto3\nimport {module}").items()
    before = _times("import boto3")
    own = [
        spent
        for name, spent in after
        if name not in before and (not packages or any(_is_of(name, each) for each in packages))
    ]
    return sum(own) / 1000


def _times(code: str) -> dict[str, int]:
    return {name: int(spent) for spent, name in LINE.findall(_run("-X", "importtime", "-c", code).stderr)}


def _loaded(module: str) -> list[str]:
    code = f"import sys, boto3\nseen = set(sys.modules)\nimport {module}\nprint(*(set(sys.modules) - seen))"
    return _run("-c", code).stdout.split()


def _uncompiled() -> int:
    """Of boto3 and durable, those that are compiled at each import: their folder can't be written."""
    code = "import os, boto3, durable\nprint(*(os.path.exists(each.__cached__) for each in (boto3, durable)))"
    return _run("-c", code).stdout.split().count("False")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python as a function on Lambda does, which loads everything while it starts, and with bytecode."""
    environment = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    environment["AWS_LAMBDA_RUNTIME_API"] = "127.0.0.1:9001"
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, env=environment)


def _is_of(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
