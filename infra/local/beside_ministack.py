"""Runs a command beside a MiniStack that it finds in DURABLE_TEST_ENDPOINT, and ends with it.

.venv/bin/python -m infra.local.beside_ministack .venv/bin/pytest tests/aws
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from infra.local.ministack import IN_VIRTUAL_TIME, MiniStack
from infra.local.ports import free_port


def main(command: list[str]) -> int:
    with (
        tempfile.TemporaryDirectory() as folder,
        MiniStack.start(free_port(), Path(folder), program=IN_VIRTUAL_TIME) as running,
    ):
        environment = {**os.environ, "DURABLE_TEST_ENDPOINT": running.url}
        return subprocess.run(command, check=False, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
