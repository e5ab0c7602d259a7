"""MiniStack: an AWS on loopback that somebody else wrote, in an environment of its own (.venv-ministack)."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from durable.errors import ConfigurationError
from infra.local.artefact import ROOT

ENVIRONMENT = ROOT / ".venv-ministack" / "bin"
PROGRAM = (ENVIRONMENT / "ministack",)
# -P: what that program imports as `ministack` is the package, not this module beside it.
IN_VIRTUAL_TIME = (ENVIRONMENT / "python", "-P", Path(__file__).with_name("virtual_time.py"))
READY_WITHIN = 90.0  # seconds
REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class MiniStack:
    """A MiniStack that runs."""

    port: int
    process: subprocess.Popen[bytes]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it, with the functions that it runs."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(30)

    @property
    def url(self) -> str:
        """The endpoint of every service."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def variables(self) -> dict[str, str]:
        """The environment in which AWS's tools and libraries talk to it, and to nobody else."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    @classmethod
    def start(
        cls,
        port: int,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        program: Sequence[Path | str] = PROGRAM,
    ) -> MiniStack:
        """Start one on loopback. It goes on after this process; its functions find this environment, beside their own."""
        if not PROGRAM[0].exists():
            raise ConfigurationError("MiniStack is not installed: run `make .venv-ministack/ready`.")
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "ministack.log").open("ab") as log:
            process = subprocess.Popen(
                program,
                cwd=folder,
                env={
                    "PATH": f"{ENVIRONMENT}:/usr/local/bin:/usr/bin:/bin",  # its functions run with its own Python
                    "HOME": str(folder),
                    "TMPDIR": str(folder),
                    "BIND_HOST": "127.0.0.1",
                    "GATEWAY_PORT": str(port),
                    **(environment or {}),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        running = cls(port, process)
        running._wait(folder / "ministack.log")
        return running

    def _wait(self, log: Path) -> None:
        end = time.monotonic() + READY_WITHIN
        while time.monotonic() < end and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=5).close()
                return
            except OSError:
                time.sleep(0.2)
        raise ConfigurationError(f"MiniStack did not start; {log} says why.")
